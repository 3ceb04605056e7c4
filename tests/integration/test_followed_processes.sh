#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Processes that a profiled one starts: without a sample they leave nothing and say nothing, with
# samples they have a profile like any other; what was handed down to them may be nonsense.
. "$REUSE_SRCDIR/tests/integration/transparency.bash"

run=$work/run
mkdir "$run"
cd "$run" || exit 1

# No clock expires: no process has a sample.
REUSE_PERIOD=1000000000000 LD_PRELOAD=$library sh -c \
    'i=0; while [ $i -lt 30 ]; do /bin/true; (exit 3); i=$((i + 1)); done' 2>err
check "30 programs and 30 forks without a sample: one line at most" \
    test "$(grep -c '^libreuse: ' err)" -le 1 -a "$(grep -vc '^libreuse: ' err)" -eq 0
check "and no file" test "$(find . -name '*.rprof' | wc -l)" -eq 0

burn='my $x = 0; my @a = (1 .. 5000); for (1 .. 400) { $x += $_ for @a } print "$x\n"'
if command -v perl >/dev/null; then
    LD_PRELOAD=$library REUSE_QUIET=1 REUSE_PERIOD=200000 REUSE_OUTPUT=%e.rprof \
        sh -c "perl -e '$burn'; exit 0" >out 2>err
    check "a program that was started has a profile" test -s perl.rprof
    check "which names its code" sh -c "'$report' --lines perl.rprof >lines 2>&1 && grep -q perl lines"
    for nonsense in "" 1:2:3 1:17000:5000:0:elsewhere x 1:0:0:1: "$(printf 'a%.0s' $(seq 3000))"; do
        rm -f perl.rprof
        LD_PRELOAD=$library REUSE_QUIET=1 REUSE_MACHINE=$nonsense REUSE_PERIOD=200000 \
            REUSE_OUTPUT=%e.rprof perl -e "$burn" >out2 2>err
        check "handed down: '${nonsense:0:30}'" sh -c "cmp -s out out2 && test ! -s err -a -s perl.rprof"
    done
else
    skip "programs that are started" "perl is not installed"
fi
finish
