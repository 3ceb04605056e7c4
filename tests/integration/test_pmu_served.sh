#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What hardware records say of how accesses were served, from the buffers of a made-up unit to the report:
# the stand-in (tests/support/pmu_stand_in.c) writes records of accesses whose sources, latencies, objects
# and instruction are known. IBS and load latencies through the ring, SPE through the AUX area.
# Runs beside others.
# Rests on samples: see tests/run.
. "$(dirname "$0")/tap.bash"

use_seam
program=$REUSE_BUILDDIR/tests/integration/programs/served_program
stand_in=$REUSE_BUILDDIR/tests/support/.libs/libpmustandin.so

# place FILE SYMBOL: its link-time address
place() { nm "$1" 2>/dev/null | awk -v name="$2" '$3 == name { print $1 }'; }
PMU_STAND_IN_ARRAY=$(place "$library" self_test_array)
PMU_STAND_IN_POINTER=$(place "$program" measured_block)
PMU_STAND_IN_CODE=$(place "$program" measured_loop)
PMU_STAND_IN_DATA=$(place "$program" measured_array):40000
export PMU_STAND_IN_ARRAY PMU_STAND_IN_POINTER PMU_STAND_IN_CODE PMU_STAND_IN_DATA
why=
[ -e "$stand_in" ] || why="the stand-in is not built"
[ -n "$PMU_STAND_IN_ARRAY" ] || why="libreuse.so has no symbol table"
if [ -n "$why" ]; then
    skip "what served the accesses" "$why"
    finish
    exit 0
fi

mkdir -p "$work"/{amd/ibs_op/format,amd/cpu,intel/cpu/{events,format},arm/armv8_pmuv3_0,arm/arm_spe_0/format}
echo amd 25 17 >"$work/amd/processor"
echo 4242 >"$work/amd/ibs_op/type"
echo config:19 >"$work/amd/ibs_op/format/cnt_ctl"
echo config2:0 >"$work/amd/ibs_op/format/swfilt"
echo 4243 >"$work/amd/cpu/type"
echo intel 6 143 >"$work/intel/processor"
echo 4242 >"$work/intel/cpu/type"
echo event=0xcd,umask=0x1,ldlat=3 >"$work/intel/cpu/events/mem-loads"
echo config:0-7 >"$work/intel/cpu/format/event"
echo config:8-15 >"$work/intel/cpu/format/umask"
echo config1:0-15 >"$work/intel/cpu/format/ldlat"
echo arm 0x413fd0c1 >"$work/arm/processor"
echo 7 >"$work/arm/armv8_pmuv3_0/type"
echo 4244 >"$work/arm/arm_spe_0/type"
echo config:16 >"$work/arm/arm_spe_0/format/jitter"
echo config:33 >"$work/arm/arm_spe_0/format/load_filter"
echo config:34 >"$work/arm/arm_spe_0/format/store_filter"

# profile UNIT OPTION... -- COMMAND...: leaves $work/p.rprof, p.json and p.text
profile() {
    local unit=$1
    shift
    rm -f "$work"/p.*
    run env REUSE_PMU_SYSFS="$work/$unit" LD_PRELOAD="$stand_in" \
        "$bin/reuse-run" --engine pmu -o "$work/p.rprof" "$@"
    "$bin/reuse-report" --format json "$work/p.rprof" >"$work/p.json" 2>>"$work/err"
    "$bin/reuse-report" "$work/p.rprof" >"$work/p.text" 2>>"$work/err"
}
holds() {
    python3 - "$work/p.json" "$1" 2>>"$work/err" <<'PYTHON'
import json, math, re, sys
r = json.load(open(sys.argv[1]))
sources = {s["source"]: s for s in r.get("sources", [])}
samples = sum(s["samples"] for s in sources.values())
loads = sum(s["loads"] for s in sources.values())
notes = " ".join(r.get("notes", []))
def lost(of_what):
    return next((note.removeprefix(of_what + ": ") for note in r.get("notes", []) if note.startswith(of_what + ": ")), "")
def about(part, whole, share):
    return abs(part - whole * share) <= 5 * math.sqrt(max(1, whole * share * (1 - share)))
def served(name, share):
    return about(sources[name]["loads"], loads, share)
def objects():
    return {o["name"]: o for o in r["served"]["objects"]}
def mine(table, key, name):
    return sum(row["samples"] for row in r["served"][table] if row[key] == name)
assert eval(sys.argv[2]), (sys.argv[2], samples, loads, sources, r.get("served"), notes)
PYTHON
}

# What is the same for all units: a name, samples at least, the latency of memory as the unit tells it.
check_report() {
    check "$1: the program ends as ever" out_has '^served$'
    check "$1: records are taken" holds "samples >= $2"
    check "$1: loads by source" \
        holds "served('L1', .5) and served('L2', .25) and served('L3', .125) and served('DRAM', .125)"
    check "$1: loads beyond each cache, with intervals" holds \
        "[about(b['share'] * loads, loads, q) and b['lo'] < b['share'] < b['hi'] for b, q in zip(r['served']['beyond'], (.5, .25, .125))] == 3 * [True]"
    check "$1: latency of memory" holds "sources['DRAM']['latency_mean'] == 300 == sources['DRAM']['latency_p90']"
    check "$1: shares add up" holds "abs(sum(s['share'] for s in sources.values()) - 1) < 1e-9"
    check "$1: translation" \
        holds "about(next(t['loads'] for t in r['translations'] if 'walk' in t['translation']), loads, .125)"
    check "$1: objects" holds \
        "about(mine('objects', 'name', 'measured_array'), samples, .5) and about(mine('objects', 'name', 'measured_block'), samples, .5)"
    check "$1: source line" holds "mine('lines', 'function', 'measured_loop') == samples"
    check "$1: the text has the tables" grep -q 'Where the data came from' "$work/p.text"
    # A virtual processor that is taken away for four periods comes back to a full buffer.
    check "$1: nothing is lost" holds \
        "'hardware sampling' not in notes and re.fullmatch('([123] times its buffer was full)?', lost('what served the accesses'))"
}

profile amd --period 1000000 -- "$program" 1.5
check_report "IBS" 300
check "IBS: stores" holds "about(samples - loads, samples, 1/3)"

profile intel --period 1000000 -- "$program" 1.5
check_report "PEBS" 300
check "PEBS: loads alone" holds "loads == samples"

cp -r "$work/intel" "$work/bare"
rm "$work/bare/cpu/events/mem-loads"
profile bare --period 1000000 -- "$program" 0.7
check "PEBS without load latencies: said so" \
    holds "'what served the accesses is not told: the kernel shows no load latency event' in notes"
check "PEBS without load latencies: no source is invented" \
    holds "samples > 0 and sources['unknown']['samples'] == samples"
profile intel --period 1000000 --event r81d0 -- "$program" 0.7
check "PEBS, an event of the user's: nothing runs beside it" holds "'what served' not in notes"

profile arm --period 1000000 -- "$program" 1.5
check_report "SPE" 3000
check "SPE: stores" holds "about(samples - loads, samples, 1/3)"

profile arm --period 1000000 -- "$program" 0.7 4
check "SPE, four threads: all are there" holds "samples >= 3000 and served('DRAM', .125)"
all=$(python3 -c 'import json,sys; print(sum(s["samples"] for s in json.load(open(sys.argv[1]))["sources"]))' "$work/p.json")
for tid in $(python3 -c 'import json,sys; print(*(t["tid"] for t in json.load(open(sys.argv[1]))["threads"]))' "$work/p.json"); do
    "$bin/reuse-report" --format json --thread "$tid" "$work/p.rprof" >"$work/p.json" 2>>"$work/err"
    all="$all - $(python3 -c 'import json,sys; print(sum(s["samples"] for s in json.load(open(sys.argv[1]))["sources"]))' "$work/p.json")"
done
check "SPE, four threads: each has its part" [ $((all)) -eq 0 ]

# The default period adapts to the cost of samples, and the unit's interval to it.
profile arm -- "$program" 1.5
check "SPE, adapted: loads by source" holds "samples >= 500 and served('L2', .25)"

# More operations than the area has room for from one signal to the next.
export PMU_STAND_IN_OPERATIONS=400
profile arm --period 1000000 -- "$program" 1.5
check "SPE, overrun: said so" holds "'times its buffer was full' in notes"
check "SPE, overrun: what is there is right" holds "samples >= 3000 and served('DRAM', .125)"
unset PMU_STAND_IN_OPERATIONS

for what in aux witness; do
    export PMU_STAND_IN_REFUSE=$what
    profile arm --period 1000000 -- "$program" 0.7
    check "SPE, no $what: the engine goes on" err_has 'pmu engine, [0-9]+ samples'
    check "SPE, no $what: nothing is invented" holds "samples == 0"
    unset PMU_STAND_IN_REFUSE
done
check "SPE is taken by somebody: said so" holds "'1 threads without it (the unit is taken by somebody else)' in notes"
export PMU_STAND_IN_REFUSE=aux
profile arm --period 1000000 -- "$program" 0.7
check "SPE, no memory for its area: the setting is named" holds "'perf_event_mlock_kb' in notes"
unset PMU_STAND_IN_REFUSE

# Recorded and repeated, without the unit.
for unit in amd intel arm; do
    rm -f "$work/tape"
    profile "$unit" --period 1000000 --record-raw "$work/tape" -- "$program" 0.7 2
    mv "$work/p.rprof" "$work/recorded.rprof"
    run "$bin/reuse-run" --replay "$work/tape" -o "$work/p.rprof"
    check "replay, $unit: the profile is the same" cmp "$work/recorded.rprof" "$work/p.rprof"
done
rm -f "$work/tape"
profile arm --record-raw "$work/tape" -- "$program" 1
mv "$work/p.rprof" "$work/recorded.rprof"
run "$bin/reuse-run" --replay "$work/tape" -o "$work/p.rprof"
check "replay, an interval that adapts: the profile is the same" cmp "$work/recorded.rprof" "$work/p.rprof"

# Merged: the tables are sums.
profile arm --period 1000000 -- "$program" 0.5
cp "$work/p.rprof" "$work/first.rprof"
one=$(python3 -c 'import json,sys; print(sum(s["samples"] for s in json.load(open(sys.argv[1]))["sources"]))' "$work/p.json")
"$bin/reuse-report" --merge -o "$work/p.rprof" "$work/first.rprof" "$work/first.rprof" 2>>"$work/err"
"$bin/reuse-report" --format json "$work/p.rprof" >"$work/p.json" 2>>"$work/err"
check "merged: sums" holds "samples == 2 * $one and mine('lines', 'function', 'measured_loop') == samples"

# The records cost no system call, bursts few: as in test_pmu_sampling.sh.
if command -v strace >/dev/null; then
    for _ in 1 2 3 4 5; do
        run env REUSE_PMU_SYSFS="$work/arm" LD_PRELOAD="$stand_in" strace -f -o "$work/trace" \
            "$bin/reuse-run" --engine pmu --period 2000000 -o "$work/p.rprof" -- "$program" 1
        err_has ETIME || break
    done
    calls=$(python3 "$REUSE_SRCDIR/tests/integration/signal_calls.py" "$work/trace" 2>>"$work/err")
    check "few system calls for a burst and its marker: $calls" \
        bash -c "[[ '$calls' =~ ^samples\ [1-9][0-9]+\ median\ [0-6]\  ]]"
    check_registers "and for one with watches: $calls" \
        bash -c "[[ '$calls' =~ armed\ [1-9][0-9]*\ median\ [0-6]\  ]]"
else
    skip "few system calls" "strace is missing"
fi

finish
