#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The main job, as a user has it: a program under the clock engine, and what the report says of it.
# Bounds are wide: machines are noisy, and the figures are for `make fidelity`.
# Rests on samples: see tests/run.
. "$(dirname "$0")/tap.bash"

bin=$REUSE_BUILDDIR/postproc
micro=$REUSE_BUILDDIR/microbench
targets=$REUSE_BUILDDIR/tests/integration/programs/clock_targets

# profile NAME COMMAND... leaves $work/NAME.rprof and $work/NAME.json
profile() {
    local name=$1
    shift
    run "$bin/reuse-run" -q -o "$work/$name.rprof" -- "$@" &&
        "$bin/reuse-report" --format json "$work/$name.rprof" >"$work/$name.json" 2>>"$work/err"
}

# holds NAME EXPRESSION: the python expression on the report `r` is true
holds() {
    python3 - "$work/$1.json" "$2" 2>>"$work/err" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
def miss(size):
    return min(r["mrc"], key=lambda p: abs(p["bytes"] - size))["miss_ratio"]
def interval(size):
    point = min(r["mrc"], key=lambda p: abs(p["bytes"] - size))
    return point["lo"], point["hi"]
def thing(name):
    return next((o for o in r["objects"] if o["name"] == name), None)
def known(name):
    # sizes beyond what was watched have no figure
    return [p for p in thing(name)["mrc"] if p["miss_ratio"] is not None]
sys.exit(0 if eval(sys.argv[2]) else 1)
PYTHON
}

# So much work, not so much time: on a busy machine a second can hold little CPU time, and few samples. Of
# some 400, an eighth miss and, with 256-byte lines, a 32nd; the bounds are four standard deviations away.
profile sweep "$micro/sweep" --bytes 1M --iterations 60000
check "a sweep runs as without us" status_is 0
# A single reading may be an interrupted one, the middle of five is not.
alike() {
    local costs=()
    for _ in 1 2 3 4 5; do
        run "$bin/reuse-run" -q -o "$work/cost.rprof" -- "$micro/sweep" --bytes 64K --iterations 40000
        costs+=("$("$bin/reuse-report" -v "$work/cost.rprof" | sed -n 's/^trigger_cost_ns: *//p')")
    done
    printf '%s\n' "${costs[@]}" | tee "$work/out" | sort -n |
        awk '{ cost[NR] = $1 } END { exit !(cost[1] > 0 && cost[3] < 1.5 * cost[1]) }'
}
check "what an expiry costs is measured alike each time" alike
check "each line of a sweep is fetched once for its eight words" holds sweep \
    '0.06 < miss(1 << 16) < 0.2'
# Registers tell, or the memory that the process had: the array's and ours.
check "a cache that holds the array catches all reuse" holds sweep 'miss(8 << 20) < 0.04'
check "no reuse is farther than all memory" holds sweep '1 << 20 < r["farthest_reuse"] < 8 << 20'
run "$bin/reuse-report" --merge -o "$work/merged.rprof" "$work/sweep.rprof"
run "$bin/reuse-report" --format json "$work/merged.rprof"
cp "$work/out" "$work/merged.json"
check "a merged profile knows that too" holds merged \
    "r['farthest_reuse'] == $(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["farthest_reuse"])' "$work/sweep.json")"
check "the array has its name and size" holds sweep \
    'any(o["kind"] == "heap" and 1 << 20 <= (o["size"] or 0) < (1 << 20) + 128 for o in r["objects"])'
check "the place is a line of the source" holds sweep \
    'any((l["file"] or "").endswith("sweep.c") and l["line"] > 0 for l in r["lines"])'
check "accesses are of the right order" holds sweep \
    '1e8 < r["accesses"]["value"] < 3e10 and r["accesses"]["lo"] <= r["accesses"]["value"] <= r["accesses"]["hi"]'
check_registers "every watch ended in a recorded way" holds sweep \
    'r["watches"]["armed"] > 0 and sum(r["watches"][k] for k in ("reused", "invalidated", "evicted", "ended")) >= 0.99 * r["watches"]["armed"]'
check "the overhead is near the budget" holds sweep \
    '0 < r["overhead"]["handler_ns"] < 0.12 * sum(t["cpu_ns"] for t in r["threads"]) + 3e7'
run "$bin/reuse-report" --mrc --line-size 256 --format json "$work/sweep.rprof"
cp "$work/out" "$work/sweep256.json"
check "the same profile answers for 256-byte lines" holds sweep256 '0.004 < miss(1 << 16) < 0.07'

profile dmtvm "$micro/dmtvm" --iterations 1300
check "data objects have the names of the source" holds dmtvm \
    'all(thing(n) is not None for n in ("m", "x"))'
check "the matrix is never reused in small caches, the vector is" holds dmtvm \
    'min(p["miss_ratio"] for p in known("m") if p["bytes"] < 1 << 20) > 0.05 and max(p["miss_ratio"] for p in known("x") if p["bytes"] > 1 << 18) < 0.03'

profile stream "$micro/stream" --seconds 1
check "all threads are there" holds stream 'len(r["threads"]) == 4'

profile regions "$targets" regions 1200
check "the object named through the interface is found" holds regions \
    'thing("the second one") is not None'
run "$bin/reuse-report" --objects --region "first span" --format json "$work/regions.rprof"
cp "$work/out" "$work/span.json"
# A burst belongs to the span that it begins in. Of some 20, each reaches beyond that span's 2^20 accesses
# once in four hundred times, and is then half in the other: the bound is eighty times what is expected.
check "a span of the interface selects its accesses" holds span \
    'thing("first_array")["accesses"] > 0.88 * sum(o["accesses"] for o in r["objects"])'

# Long enough for ten such stores: none in a run is then one case in twenty thousand.
# A run sees few such stores; on a busy machine, where one thread waits for the other, perhaps none.
for _ in 1 2 3; do
    registers_trap || break
    profile shared "$targets" shared 4500
    holds shared 'r["watches"]["invalidated"] > 0 and max(m["coherence"] or 0 for m in r["misses"]) > 0.005' && break
done
check_registers "stores of another thread are seen" holds shared 'r["watches"]["invalidated"] > 0'
check_registers "they make coherence misses" holds shared 'max(m["coherence"] or 0 for m in r["misses"]) > 0.005'

profile padded "$micro/contention" --pattern reduction --padding 64 --seconds 2
run "$bin/reuse-report" --sharing --matrix --format json "$work/padded.rprof"
cp "$work/out" "$work/padding.json"
check "counters in lines of their own need no parting" holds padding \
    'not any(f["worth_parting"] for f in r["sharing"].get("false_sharing", []))'

# Some fifty such ends are to be expected; those of a thread's own end are at most as many as it has slots.
registers_trap && profile freed "$targets" freed 1000
check_registers "watches on freed blocks end" holds freed 'r["watches"]["ended"] > 4'
# The allocator hands these out again, and what is watched is used again: some ten times (7 to 16 in
# five runs on a busy machine).
registers_trap && profile recycled "$targets" recycled 4000
check_registers "watches on small blocks go on" \
    holds recycled 'r["watches"]["reused"] > 2 and r["watches"]["reused"] > r["watches"]["ended"]'

# What interpreting sees ahead ends where its buffer for stores does; rates are to be had all the same.
profile columns "$targets" columns 3000
check "a loop of scattered stores has its rate measured within seconds" holds columns \
    'r["access_rate"]["bursts"] > 10'

run timeout -s KILL 2 "$bin/reuse-run" -q -o "$work/killed.rprof" -- "$micro/sweep" --seconds 20
run "$bin/reuse-report" "$work/killed.rprof"
check "a profile cut short by SIGKILL is read" status_is 0
check "and the report says so" out_has 'the profile ends early'

run env LD_PRELOAD="$REUSE_BUILDDIR/runtime/.libs/libreuse.so" REUSE_OUTPUT="$work/%e.rprof" \
    "$micro/sweep" --seconds 1
check "plain LD_PRELOAD does the same" test -s "$work/sweep.rprof"
check "and closes with one line" err_is_one_line
check "that names engine, samples, cost, file and the next command" err_has \
    '^libreuse: clock engine, [0-9]+ samples, [0-9.]+ % of CPU time taken; look at it with: reuse-report .*sweep'
finish
