#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Hardware counts of the traffic between levels, beside what is predicted: without a PMU. A stand-in
# (tests/support/pmu_stand_in.c) opens the events of a made-up processor as the task clock and gives out so
# many lines per access. What is real: opening, inheritance by threads, reading, the profile, the report.
# Rests on samples: see tests/run.
. "$(dirname "$0")/tap.bash"

use_seam
micro=$REUSE_BUILDDIR/microbench
programs=$REUSE_BUILDDIR/tests/integration/programs
stand_in=$REUSE_BUILDDIR/tests/support/.libs/libpmustandin.so
if [ ! -e "$stand_in" ]; then
    skip "hardware counts of levels" "the stand-in is not built"
    finish
    exit 0
fi
# make_cache MACHINE INDEX LEVEL TYPE SIZE WAYS: where the stand-in shows it to the run
make_cache() {
    local at=$work/$1/cache/index$2
    mkdir -p "$at"
    echo "$3" >"$at/level"
    echo "$4" >"$at/type"
    echo "$5" >"$at/size"
    echo "$6" >"$at/ways_of_associativity"
    echo 64 >"$at/coherency_line_size"
    echo 0 >"$at/shared_cpu_list"
}
mkdir -p "$work/haswell/cpu" "$work/nobody"
make_cache haswell 0 1 Data 32K 8
make_cache haswell 1 2 Unified 256K 8
make_cache haswell 2 3 Unified 20480K 20
echo intel 6 63 >"$work/haswell/processor"
echo 4242 >"$work/haswell/cpu/type"
echo intel 6 254 >"$work/nobody/processor"

# profile MACHINE LEVELS COMMAND...: leaves $work/p.rprof, and its traffic in $work/p.json and $work/p.txt
profile() {
    local machine=$1 levels=$2
    shift 2
    rm -f "$work"/p.*
    run env REUSE_PMU_SYSFS="$work/$machine" PMU_STAND_IN_LEVELS="$levels" LD_PRELOAD="$stand_in" \
        "$bin/reuse-run" --engine clock -o "$work/p.rprof" "$@"
    "$bin/reuse-report" --traffic --threads --format json "$work/p.rprof" >"$work/p.json" 2>>"$work/err"
    "$bin/reuse-report" --traffic "$work/p.rprof" >"$work/p.txt" 2>>"$work/err"
}
holds() {
    python3 - "$work/p.json" "$1" 2>>"$work/err" <<'PYTHON'
import json, os, sys
r = json.load(open(sys.argv[1]))
levels = r["traffic"][0]["levels"]
# What the stand-in gave out for L2 of each access, by the CPU time of this very run: what was predicted
# depends on how fast the machine happens to be at each moment.
accesses = sum(t["cpu_ns"] or 0 for t in r["threads"]) * float(os.environ["PMU_STAND_IN_RATE"]) / 1000
counted = (levels[1]["measured_bytes"] or 0) / 64 / accesses if accesses else None
notes = " ".join(r.get("traffic_notes", []))
assert eval(sys.argv[2]), (sys.argv[2], levels, notes)
PYTHON
}
says() { grep -qE "$1" "$work/p.txt"; }

# accesses per 1000 ns of CPU time of a sweep
iterations=4000
seconds=$({ TIMEFORMAT=%U && time "$micro/sweep" --bytes 8M --iterations "$iterations" >/dev/null; } 2>&1)
PMU_STAND_IN_RATE=$(awk -v n="$iterations" -v s="$seconds" 'BEGIN { printf "%d", n * 1048576 / (s * 1e6) }')
export PMU_STAND_IN_RATE

# One access in eight comes to a new line: what L1 and L2 fetch. Twice of it: conflicts, or prefetches.
profile haswell 151=0.125,7f1=0.25,412e=silent,10f0=0.0625 -- "$micro/sweep" --bytes 8M --iterations "$iterations"
check "the program ends as ever" status_is 0
check "nothing is said of it while it runs" bash -c "! grep -q LONGEST_LAT '$work/err'"
check "L2: what is counted stands beside the prediction" \
    holds "0.9 < counted / 0.125 < 1.5 and abs(levels[1]['measured_bytes'] / levels[1]['bytes'] - levels[1]['measured_ratio']) < 1e-6"
check "L3: twice as much is counted" holds "1.5 < levels[2]['measured_bytes'] / levels[1]['measured_bytes'] < 2.5"
check "what L1 wrote back" holds "0.4 < levels[1]['measured_write_back_bytes'] / levels[1]['measured_bytes'] < 0.6"
check "the events are named, and what they count" \
    holds "levels[1]['measured_events'] == 'L1D:REPLACEMENT (prefetches included)'"
check "an event that is silent in the trial is not trusted" \
    holds "levels[-1]['measured_bytes'] is None and 'LONGEST_LAT_CACHE:MISS opens here but counted nothing' in levels[-1]['measured_verdict']"
check "the text has them side by side" says '^level +predicted +measured'
check "and no longer says that nothing was measured" bash -c "! grep -q 'Measured: nothing' '$work/p.txt'"

profile haswell 151=0.125:0.25,7f1=wrong -- "$micro/sweep" --bytes 8M --iterations "$iterations"
check "shared counters are scaled up" holds "0.9 < counted / 0.125 < 1.5"
check "and that is said" holds "'shared out' in notes and '25 %' in notes"
check "an event that counts something else is not trusted" \
    holds "levels[2]['measured_bytes'] is None and 'another number' in levels[2]['measured_verdict']"

# Threads inherit the events.
profile haswell 151=0.125 -- "$micro/sweep" --bytes 8M --iterations "$iterations" --threads 2
check "threads are counted" holds "0.9 < counted / 0.125 < 1.5"
profile haswell 151=0.125 -- "$micro/sweep" --bytes 8M --iterations "$iterations"
cp "$work/p.rprof" "$work/one.rprof"
profile haswell 151=0.125 -- "$micro/sweep" --bytes 8M --iterations "$iterations"
"$bin/reuse-report" --merge -o "$work/both.rprof" "$work/one.rprof" "$work/p.rprof" 2>>"$work/err"
"$bin/reuse-report" --traffic --threads --format json "$work/both.rprof" >"$work/p.json" 2>>"$work/err"
check "counts of merged runs add up" holds "0.9 < counted / 0.125 < 1.5"

# Another machine's prediction, or other lines: not compared, and that is said.
"$bin/reuse-report" --traffic --threads --machine a64fx --format json "$work/one.rprof" >"$work/p.json" 2>>"$work/err"
check "of another machine nothing was measured" holds "levels[1]['measured_bytes'] is None"
"$bin/reuse-report" --traffic --threads --line-size 256 --format json "$work/one.rprof" >"$work/p.json" 2>>"$work/err"
check "in other lines either" holds "levels[1]['measured_bytes'] is None and 'not compared' in notes"

# The engine pmu: its two samplers take two of four counters, so that L1 and L2 alone are counted.
array=$(nm "$library" 2>"$work/err" | awk '/self_test_array/ { print $1 }')
if [ -n "$array" ]; then
    run env REUSE_PMU_SYSFS="$work/haswell" PMU_STAND_IN_ARRAY="$array" LD_PRELOAD="$stand_in" \
        PMU_STAND_IN_LEVELS=151=0.125,7f1=0.125,412e=0.001,10f0=0.1,40f0=0.1 "$bin/reuse-run" --engine pmu \
        --period 1500000 -o "$work/p.rprof" "$micro/sweep" --bytes 8M --iterations "$iterations"
    check "engine pmu: it is used" err_has 'pmu engine, [0-9]+ samples'
    "$bin/reuse-report" --traffic --threads --format json "$work/p.rprof" >"$work/p.json" 2>>"$work/err"
    check "engine pmu: what L1 and L2 fetch is counted" \
        holds "levels[1]['measured_bytes'] > 0 and levels[2]['measured_bytes'] > 0"
    check "engine pmu: what found no counter is not" \
        holds "levels[3]['measured_bytes'] is None and levels[1]['measured_write_back_bytes'] is None"
else
    skip "hardware counts beside the engine pmu" "libreuse.so has no symbol table"
fi

# A processor that nobody knows has the kernel's own events; here there are none.
profile nobody 151=0.125 -- "$micro/sweep" --bytes 8M --iterations "$iterations"
check "no event opens: one line says so" holds "'Measured: nothing' in notes"

finish
