#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The engine pmu at work, without a PMU: a stand-in (tests/support/pmu_stand_in.c) makes the task clock of
# the kernel out as AMD's IBS and its counters of accesses. What is real: the kernel's events, ring buffer,
# signals and periods, and the whole path from there to the report. What is not: the hardware.
. "$(dirname "$0")/tap.bash"

bin=$REUSE_BUILDDIR/postproc
micro=$REUSE_BUILDDIR/microbench
programs=$REUSE_BUILDDIR/tests/integration/programs
library=$REUSE_BUILDDIR/runtime/.libs/libreuse.so
stand_in=$REUSE_BUILDDIR/tests/support/.libs/libpmustandin.so
vendor=$(sed -n 's/^vendor_id[^:]*: //p' /proc/cpuinfo | head -n 1)

array=$(nm "$library" 2>"$work/err" | awk '/self_test_array/ { print $1 }')
why=
[ "$vendor" = AuthenticAMD ] || why="the stand-in is IBS, and this processor is of $vendor"
[ -e "$stand_in" ] || why="the stand-in is not built"
[ -n "$array" ] || why="libreuse.so has no symbol table"
if [ -n "$why" ]; then
    skip "the engine pmu at work" "$why"
    finish
    exit 0
fi

mkdir -p "$work/sysfs/ibs_op/format" "$work/sysfs/cpu"
echo 4242 >"$work/sysfs/ibs_op/type"
echo config:19 >"$work/sysfs/ibs_op/format/cnt_ctl"
echo config2:0 >"$work/sysfs/ibs_op/format/swfilt"
echo 4243 >"$work/sysfs/cpu/type"

# profile OPTION... -- COMMAND...: leaves $work/p.rprof and $work/p.json
profile() {
    rm -f "$work"/p.*
    run env REUSE_PMU_SYSFS="$work/sysfs" PMU_STAND_IN_ARRAY="$array" LD_PRELOAD="$stand_in" \
        "$bin/reuse-run" --engine pmu -o "$work/p.rprof" "$@"
    "$bin/reuse-report" --format json "$work/p.rprof" >"$work/p.json" 2>>"$work/err"
}
holds() {
    python3 - "$work/p.json" "$1" 2>>"$work/err" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
def miss(size):
    return min(r["mrc"], key=lambda p: abs(p["bytes"] - size))["miss_ratio"]
assert eval(sys.argv[2]), (sys.argv[2], r["accesses"], [(p["bytes"], p["miss_ratio"]) for p in r["mrc"]])
PYTHON
}

# Accesses per 1000 ns of CPU time of a sweep over 1 MiB, 131072 accesses each time.
iterations=3000
TIMEFORMAT=%U
seconds=$({ time "$micro/sweep" --bytes 1M --iterations "$iterations" >/dev/null; } 2>&1)
rate=$(awk -v n="$iterations" -v s="$seconds" 'BEGIN { printf "%d", n * 131072 / (s * 1e6) }')
export PMU_STAND_IN_RATE=$rate

profile -- "$micro/sweep" --bytes 1M --iterations "$iterations"
check "the program ends as ever" status_is 0
check "its output is its own" out_has "iterations=$iterations checksum="
check "the closing line names the engine" err_has 'pmu engine, [0-9]+ samples'
check "the profile names the engine" holds "r['engine'] == 'pmu'"
check "samples are taken" holds "r['samples'] >= 20"
check "watches are armed and end by reuse" holds "r['watches']['reused'] >= 2"
check "accesses are counted, not estimated" \
    holds "r['accesses']['hi'] <= 1.05 * r['accesses']['value'] and 0.6 < r['accesses']['value'] / ($iterations * 131072) < 1.6"
check "below the size of the array one in eight misses" holds "0.06 < miss(300 << 10) < 0.2"
check "above it none" holds "miss(3 << 20) < 0.03"

profile -- "$micro/sweep" --bytes 64K --iterations 30000
check "another array: its size is where misses end" holds "miss(16 << 10) > 0.05 and miss(300 << 10) < 0.03"

profile --period 3000000 -- "$micro/sweep" --bytes 1M --iterations "$iterations"
check "a fixed period is a number of accesses" \
    holds "0.5 < r['samples'] * 3e6 / ($iterations * 131072) < 1.5"

profile -- "$micro/sweep" --bytes 256K --iterations 4000 --threads 4
check "threads: the program ends as ever" status_is 0
check "threads: all are counted" holds "len([t for t in r['threads'] if t['accesses'] > 1e6]) >= 4"

profile -- "$micro/chase" --seconds 0.5
check "a pointer chase" holds "r['engine'] == 'pmu' and r['samples'] >= 5"

export PMU_STAND_IN_LOST=1
profile -- "$micro/sweep" --bytes 1M --iterations 300
check "records lost in the self-test do not refuse the unit" err_has 'pmu engine'
unset PMU_STAND_IN_LOST

# One signal for each sample, and of system calls of the engine one for each, and one for each arming.
if command -v strace >/dev/null; then
    run env REUSE_PMU_SYSFS="$work/sysfs" PMU_STAND_IN_ARRAY="$array" LD_PRELOAD="$stand_in" \
        strace -f -o "$work/trace" -e trace=ioctl "$bin/reuse-run" --engine pmu --period 5000000 \
        -o "$work/p.rprof" -- "$micro/sweep" --bytes 32K --iterations 40000
    "$bin/reuse-report" --format json "$work/p.rprof" >"$work/p.json" 2>>"$work/err"
    periods=$(grep -c PERF_EVENT_IOC_PERIOD "$work/trace")
    check "one change of the period for each sample" \
        holds "abs($periods - r['samples']) <= 3 + 0.02 * r['samples']"
else
    skip "one change of the period for each sample" "strace is missing"
fi

finish
