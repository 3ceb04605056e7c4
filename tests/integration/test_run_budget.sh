#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The budget is the run's: many processes take no more samples than one that works as long.
# Rests on samples.
. "$(dirname "$0")/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
target=$REUSE_BUILDDIR/tests/integration/programs/target_live
cd "$work" || exit 1

# samples COMMAND: of all its processes, as the closing line has them.
samples() {
    "$reuse_run" -e clock --budget 0.3 -o '%p.rprof' sh -c "$1" 2>&1 >/dev/null |
        sed -n 's/.*clock engine, \([0-9]*\) samples.*/\1/p'
}

one=$(samples "echo burn 5000 | '$target'")
many=$(samples "for i in \$(seq 50); do echo burn 100 | '$target'; done")
echo "# $one samples of one process, $many of 50"
# With a budget for each there were 40 to 48 beside 13.
check "one long process is sampled" test "$one" -ge 4
check "50 short ones draw on the same budget" test "$many" -le $((one * 3 / 2 + 5))
check "... and are sampled" test "$many" -ge 1
finish
