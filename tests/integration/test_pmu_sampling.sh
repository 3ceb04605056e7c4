#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The engine pmu at work, without a PMU: a stand-in (tests/support/pmu_stand_in.c) makes the task clock of
# the kernel out as AMD's IBS and its counters of accesses. What is real: the kernel's events, ring buffer,
# signals and periods, and the whole path from there to the report. What is not: the hardware.
# Rests on samples: see tests/run.
. "$(dirname "$0")/tap.bash"

use_seam
micro=$REUSE_BUILDDIR/microbench
programs=$REUSE_BUILDDIR/tests/integration/programs
stand_in=$REUSE_BUILDDIR/tests/support/.libs/libpmustandin.so

array=$(nm "$library" 2>"$work/err" | awk '/self_test_array/ { print $1 }')
why=
[ -e "$stand_in" ] || why="the stand-in is not built"
[ -n "$array" ] || why="libreuse.so has no symbol table"
if [ -n "$why" ]; then
    skip "the engine pmu at work" "$why"
    finish
    exit 0
fi

mkdir -p "$work/sysfs/ibs_op/format" "$work/sysfs/cpu" "$work/intel/cpu"
echo amd 25 17 >"$work/sysfs/processor"
echo intel 6 143 >"$work/intel/processor"
echo 4242 >"$work/intel/cpu/type"
echo 4242 >"$work/sysfs/ibs_op/type"
echo config:19 >"$work/sysfs/ibs_op/format/cnt_ctl"
echo config2:0 >"$work/sysfs/ibs_op/format/swfilt"
echo 4243 >"$work/sysfs/cpu/type"

# profile OPTION... -- COMMAND...: leaves $work/p.rprof and $work/p.json
profile() {
    local TIMEFORMAT='%U + %S'
    rm -f "$work"/p.*
    { time run env REUSE_PMU_SYSFS="$work/${unit:-sysfs}" PMU_STAND_IN_ARRAY="$array" LD_PRELOAD="$stand_in" \
        ${mover:-} "$bin/reuse-run" --engine pmu -o "$work/p.rprof" "$@"; } 2>"$work/seconds"
    SECONDS_TAKEN=$(cat "$work/seconds")
    export SECONDS_TAKEN
    "$bin/reuse-report" --format json "$work/p.rprof" >"$work/p.json" 2>>"$work/err"
}
holds() {
    python3 - "$work/p.json" "$1" 2>>"$work/err" <<'PYTHON'
import json, os, sys
r = json.load(open(sys.argv[1]))
# Of the time that the program took in this run: how fast the machine is meanwhile is not the question.
rate = int(os.environ["PMU_STAND_IN_RATE"]) * 1e6
seconds = sum(map(float, os.environ["SECONDS_TAKEN"].split("+"))) - r["overhead"]["handler_ns"] / 1e9
counted = r["accesses"]["value"] / (seconds * rate)
def miss(size):
    return min(r["mrc"], key=lambda p: abs(p["bytes"] - size))["miss_ratio"]
assert eval(sys.argv[2]), (sys.argv[2], r["accesses"], [(p["bytes"], p["miss_ratio"]) for p in r["mrc"]])
PYTHON
}

# measure_rate BYTES ITERATIONS: accesses per 1000 ns of CPU time of a sweep. The stand-in counts the kernel's
# time as well, some 10 us at each trap: arrays must take longer than that to sweep.
measure_rate() {
    local seconds TIMEFORMAT=%U
    seconds=$({ time "$micro/sweep" --bytes "$1" --iterations "$2" >/dev/null; } 2>&1)
    PMU_STAND_IN_RATE=$(awk -v n="$2" -v b="$1" -v s="$seconds" 'BEGIN { printf "%d", n * b / 8 / (s * 1e6) }')
    export PMU_STAND_IN_RATE
}

size=8388608 iterations=1000
measure_rate "$size" "$iterations"
profile --period 1500000 -- "$micro/sweep" --bytes "$size" --iterations "$iterations"
check "the program ends as ever" status_is 0
check "its output is its own" out_has "iterations=$iterations checksum="
check "the closing line names the engine" err_has 'pmu engine, [0-9]+ samples'
check "the profile names the engine" holds "r['engine'] == 'pmu'"
check "samples are taken" holds "r['samples'] >= 20"
check_registers "watches are armed and end by reuse" holds "r['watches']['reused'] >= 2"
check "accesses are counted, not estimated" \
    holds "r['accesses']['hi'] <= 1.5 * r['accesses']['value'] and 0.6 < counted < 1.6"
check "below the size of the array one in eight misses" holds "0.05 < miss($size // 3) < 0.22"
check_registers "above it none" holds "miss(3 * $size) < 0.03"

profile --period 3000000 -- "$micro/sweep" --bytes "$size" --iterations "$iterations"
check "a fixed period is a number of accesses" \
    holds "0.8 < r['samples'] * 3e6 / r['accesses']['value'] < 1.25"

size=2097152 iterations=4000
measure_rate "$size" "$iterations"
profile --period 1500000 -- "$micro/sweep" --bytes "$size" --iterations "$iterations"
check_registers "another array: its size is where misses end" holds "miss($size // 3) > 0.05 and miss(3 * $size) < 0.03"

profile -- "$micro/sweep" --bytes 256K --iterations 40000 --threads 4
check "threads: the program ends as ever" status_is 0
check "threads: all are counted" holds "len([t for t in r['threads'] if t['accesses'] > 1e6]) >= 4"

profile -- "$micro/chase" --seconds 0.5
check "a pointer chase" holds "r['engine'] == 'pmu' and r['samples'] >= 5"

# Four threads of the same work; three of them are refused the hardware's events.
export PMU_STAND_IN_REFUSE=threads
profile --period 3000000 -- "$micro/sweep" --bytes 1M --iterations 4000 --threads 4
unset PMU_STAND_IN_REFUSE
check "threads refused: the program ends as ever" status_is 0
check "threads refused: one line says so" err_has 'sampled by its CPU clock: its hardware events were refused .EBUSY'
check "threads refused: they have samples" \
    holds "r['engine'] == 'pmu' and len([t for t in r['threads'] if t['bursts'] > 0]) >= 4"
check "threads refused: their accesses are those of their time" holds "0.2 < counted < 5"
check "threads refused: the report says of how many" \
    holds "any('threads sampled by their CPU clock' in n for n in r['notes'])"

# A kernel that has lowered the rate at which events may interrupt: the self-test takes longer.
mkdir -p "$work/slow"
cp -r "$work/sysfs/." "$work/slow"
echo 20000 >"$work/slow/perf_event_max_sample_rate"
export PMU_STAND_IN_PASSES=3073
unit=slow
profile --period 1500000 -- "$micro/sweep" --bytes "$size" --iterations "$iterations"
unset PMU_STAND_IN_PASSES
check "a lowered sample rate: the engine is used" err_has 'pmu engine, [0-9]+ samples'

export PMU_STAND_IN_REFUSE=signals
unit=sysfs
profile -- "$micro/sweep" --bytes 256K --iterations 400
unset PMU_STAND_IN_REFUSE
check "events that bring no signal are found out before the run" \
    err_has 'passed over: .*only 0 signals came in [0-9]+ accesses .Linux before 6.1'

unit=intel
profile --period 1500000 -- "$micro/sweep" --bytes "$size" --iterations "$iterations"
check "PEBS, two events: the program ends as ever" status_is 0
check "PEBS: the engine is used" err_has 'pmu engine, [0-9]+ samples'
check "PEBS: accesses of both events are counted" \
    holds "0.6 < counted < 1.6"
check_registers "PEBS: the size of the array is where misses end" holds "miss($size // 3) > 0.05 and miss(3 * $size) < 0.03"
profile -- "$micro/sweep" --bytes 256K --iterations 40000 --threads 4
check "PEBS: threads" holds "len([t for t in r['threads'] if t['accesses'] > 1e6]) >= 4"

# Two kinds of cores: the kernel gives a thread the events of the one on CPU 0, of the other on CPU 1. The program is
# moved to and fro. Were each count scaled to the whole time, twice as many accesses would be counted.
if taskset -c 0 true 2>/dev/null && taskset -c 1 true 2>/dev/null; then
    mkdir -p "$work/hybrid/cpu_core" "$work/hybrid/cpu_atom"
    echo intel 6 151 >"$work/hybrid/processor"
    echo 4250 >"$work/hybrid/cpu_core/type"
    echo 4251 >"$work/hybrid/cpu_atom/type"
    cat >"$work/moved" <<'SCRIPT'
taskset -c 0 "$@" &
program=$! cpu=0
while kill -0 "$program" 2>/dev/null; do
    sleep 0.1
    cpu=$((1 - cpu))
    taskset -acp "$cpu" "$program" >/dev/null 2>&1
done
wait "$program"
SCRIPT
    unit=hybrid mover="bash $work/moved"
    profile --period 6000000 -- "$micro/sweep" --bytes "$size" --iterations "$iterations"
    mover=
    check "kinds of cores: the program ends as ever" status_is 0
    check "kinds of cores: the engine is used" err_has 'pmu engine, [0-9]+ samples'
    check "kinds of cores: accesses on both are counted, and once" holds "0.6 < counted < 1.6"
    check "kinds of cores: nothing is said to be missing" bash -c "! grep -q 'nothing counted' '$work/p.json'"
else
    skip "kinds of cores" "two CPUs are needed"
fi

# Arm: counters of accesses interrupt, with SPE or without. (The code that runs is x86's all the same.)
for unit in a64fx neoverse; do
    mkdir -p "$work/$unit/armv8_pmuv3_0"
    echo 7 >"$work/$unit/armv8_pmuv3_0/type"
done
mkdir -p "$work/neoverse/arm_spe_0"
echo 8 >"$work/neoverse/arm_spe_0/type"
echo arm 0x461f0010 >"$work/a64fx/processor"
echo arm 0x413fd0c1 >"$work/neoverse/processor"
for unit in a64fx neoverse; do
    profile --period 1500000 -- "$micro/sweep" --bytes "$size" --iterations "$iterations"
    check "overflow, $unit: the engine is used" err_has 'pmu engine, [0-9]+ samples'
    check "overflow, $unit: accesses of both events are counted" \
        holds "0.6 < counted < 1.6"
    check_registers "overflow, $unit: the size of the array is where misses end" \
        holds "miss($size // 3) > 0.05 and miss(3 * $size) < 0.03"
    check "overflow, $unit: no record counts as lost or unreadable" \
        holds "not any('unreadable' in n for n in r.get('notes', []))"
done
unit=sysfs

export PMU_STAND_IN_LOST=1
profile -- "$micro/sweep" --bytes 1M --iterations 300
check "records lost in the self-test do not refuse the unit" err_has 'pmu engine'
unset PMU_STAND_IN_LOST

export PMU_STAND_IN_REFUSE=ring
profile -- "$micro/sweep" --bytes 1M --iterations 300
check "no memory may be locked: the setting is named" err_has 'passed over.*perf_event_mlock_kb.*going on with clock'
export PMU_STAND_IN_REFUSE=busy
profile -- "$micro/sweep" --bytes 1M --iterations 300
check "the PMU is taken: by whom, perhaps" err_has 'passed over.*taken by somebody else.*nmi_watchdog.*going on with clock'
unset PMU_STAND_IN_REFUSE

# What a burst costs in the kernel: one signal, setting its marker and its watches; after the first ones a new period
# for one in eight. A pursuit, one in four bursts has one, holds the events and reads the CPU clock twice.
if command -v strace >/dev/null; then
    # Traced, on a busy machine, the calibration at start-up may not come to an end in time.
    for _ in 1 2 3 4 5; do
        run env REUSE_PMU_SYSFS="$work/sysfs" PMU_STAND_IN_ARRAY="$array" LD_PRELOAD="$stand_in" \
            strace -f -o "$work/trace" "$bin/reuse-run" --engine pmu \
            --period 2000000 -o "$work/p.rprof" -- "$micro/sweep" --bytes 32K --iterations 240000
        err_has ETIME || break
    done
    "$bin/reuse-report" --format json "$work/p.rprof" >"$work/p.json" 2>>"$work/err"
    periods=$(grep -c PERF_EVENT_IOC_PERIOD "$work/trace")
    clocks=$(sed '1,/PERF_EVENT_IOC_PERIOD/d' "$work/trace" | grep -c CLOCK_THREAD_CPUTIME_ID)
    check "few changes of the period" holds "r['samples'] > 30 and $periods <= 20 + r['samples'] / 7"
    check "the CPU clock is left alone but for pursuits" holds "$clocks <= 10 + 2 * $periods + 2 * r['samples']"
    calls=$(python3 "$REUSE_SRCDIR/tests/integration/signal_calls.py" "$work/trace" 2>>"$work/err")
    check "few system calls for a burst and its marker: $calls" \
        bash -c "[[ '$calls' =~ ^samples\ [1-9][0-9]+\ median\ [0-6]\  ]]"
    check_registers "and for one with watches: $calls" \
        bash -c "[[ '$calls' =~ armed\ [1-9][0-9]*\ median\ [0-6]\  ]]"
    run env REUSE_PMU_SYSFS="$work/sysfs" PMU_STAND_IN_ARRAY="$array" LD_PRELOAD="$stand_in" \
        strace -f -o "$work/trace" "$bin/reuse-run" --engine pmu --period 2000000 -o "$work/p.rprof" -- \
        "$micro/chase" --seconds 1
    calls=$(python3 "$REUSE_SRCDIR/tests/integration/signal_calls.py" "$work/trace" 2>>"$work/err")
    check_registers "at most two for one that arms a register: $calls" \
        bash -c "[[ '$calls' =~ armed\ [1-9][0-9]*\ median\ [12]\ exchanged\ few$ ]]"
else
    skip "few system calls" "strace is missing"
fi

finish
