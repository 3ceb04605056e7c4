#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Threads of 85 us are sampled in proportion to their CPU time.
# Rests on samples.
. "$(dirname "$0")/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
report=$REUSE_BUILDDIR/postproc/reuse-report
target=$REUSE_BUILDDIR/tests/integration/programs/short_threads
cd "$work" || exit 1

# share MODE: of all accesses, those of the threads, in percent; -1: there are none. The table has the
# most misses first, and the threads' array has hardly any: it must be whole.
share() {
    "$reuse_run" -q -e clock -o "$1.rprof" "$target" "$1"
    "$report" --objects --top 1000 --format json "$1.rprof" | python3 -c "
import json, sys
objects = json.load(sys.stdin)['objects']
own = sum(o['accesses'] for o in objects if o['name'] == 'in_threads')
all = sum(o['accesses'] for o in objects)
print(round(100 * own / all) if all else -1)"
}

if printf '%s\n' 6.1 "$(uname -r)" | sort -CV; then
    half=$(share half) only=$(share only)
    echo "# $half % and $only % of the accesses"
    # Some 40 bursts, each in a thread or not.
    check "half of the work in short threads is seen as such" \
        test "$half" -ge 15 -a "$half" -le 85
    check "work in short threads only, too" test "$only" -ge 70
else
    skip "short threads are sampled" "Linux before 6.1: none below 100 us"
fi
finish
