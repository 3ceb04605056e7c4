#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-report --blocking on kernels of which it is known what helps them.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
reuse_report=$REUSE_BUILDDIR/postproc/reuse-report
bench=$REUSE_BUILDDIR/microbench
cd "$work" || exit 1
cat >machine.conf <<'CONF'
name = test
cache = 1 32768 64 8 1
cache = 2 1048576 64 16 1
CONF
needs_qemu "hints"
record() { # NAME PROGRAM ARGUMENTS...
    "$reuse_run" -q -e exact -o "$1.rprof" "$bench/$2" "${@:3}" >/dev/null 2>&1
}
hints() { run "$reuse_report" --blocking --machine machine.conf "$@"; }

# 100 x 100 doubles: the 80 kB of b pass between two uses of a line of it, a row of a does not.
record naive matmul --naive --size 100 --iterations 1
hints naive.rprof
check "a naive product is to be blocked" out_has "^block +microbench/matmul.c"
check "for the L1" out_has "L1 holds 32 KiB"
hints --format json naive.rprof
check "the size that it needs" python3 -c "
import json
hints = json.load(open('out'))['blocking']
assert len(hints) == 1, hints
assert hints[0]['hint'] == 'block' and hints[0]['cache_level'] == 'L1'
# 10000 doubles, and a line each of the row and the result: a line of b per element of a column
assert 80000 < hints[0]['need_bytes'] < 140000, hints[0]
assert hints[0]['misses_share'] > 0.9"
record blocked matmul --size 100 --block 16 --iterations 1
hints blocked.rprof
check "a blocked one has nothing to gain" out_has "^Nothing to gain"
hints --format json blocked.rprof
check "an empty list in JSON" python3 -c "
import json
assert json.load(open('out'))['blocking'] == []"
record triad stream --bytes 4M --threads 1 --iterations 1
hints triad.rprof
check "a triad streams" out_has "^stream +microbench/stream.c"
# Its rows fit the cache, its grid too: nothing is late.
record small stencil --rows 40 --columns 40 --iterations 50
hints small.rprof
check "a small stencil has nothing to gain" out_has "^Nothing to gain"
record large stencil --rows 12 --columns 3000 --iterations 2
hints large.rprof
check "rows too long for the L1 are to be blocked" out_has "^block +microbench/stencil.c"
# The nodes of a random cycle, all of them between two visits: more than the L2 holds, in any order.
record walk chase --bytes 4M --iterations 4
hints walk.rprof
check "a cycle through more than the L2" out_has "^block .* L2 "
finish
