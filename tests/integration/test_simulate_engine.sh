#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-run --engine simulate, end to end: samples, watches and counts of one run in one profile.
# Rests on samples: see tests/run.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
simulate="$REUSE_BUILDDIR/postproc/reuse-run --engine simulate --seed 7"
report=$REUSE_BUILDDIR/postproc/reuse-report
micro=$REUSE_BUILDDIR/microbench

needs_qemu "the engine simulate"
cd "$work" || exit 1

# simulated NAME COMMAND... leaves NAME.rprof and its report NAME.json
simulated() {
    local name=$1
    shift
    run $simulate -o "$name.rprof" "$@"
    "$report" --format json --summary --mrc --histogram --threads "$name.rprof" >"$name.json" 2>>err
}
# holds NAME EXPRESSION: the python expression on the report `r` is true
holds() {
    python3 - "$1.json" "$2" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)
PYTHON
}

simulated sweep "$micro/sweep" --bytes 1408K --iterations 220
check "a program runs to its end" status_is 0
check "and prints what it prints" out_has 'iterations=220'
check "one closing line names the profile" err_has '^libreuse: .*sweep.rprof'
check "the profile says whose it is" holds sweep 'r["engine"] == "simulate" and r["run"]["clock"] == "accesses"'
check "one burst per 100 000 accesses" holds sweep '0.95 < r["samples"] * 1e5 / r["accesses"]["value"] < 1.05'
check "accesses are counted, not estimated" holds sweep 'abs(r["accesses"]["value"] - 3.95e7) < 1e6'
check "every watch ended in a recorded way" holds sweep \
    'r["watches"]["armed"] > 200 and sum(r["watches"][k] for k in ("reused", "invalidated", "evicted", "ended")) == r["watches"]["armed"]'
check "the truth is beside the estimate" holds sweep 'r["truth"]["sizes"] == 48 and all("truth" in p for p in r["mrc"])'
check "which is near it" holds sweep 'r["truth"]["mrc_error"] < 0.02 and r["truth"]["covered"] >= 0.9'
check "so are the histograms" holds sweep \
    'r["truth"]["stack_distance_accuracy"] > 0.95 and r["truth"]["reuse_time_accuracy"] > 0.95'
check "the size axis is certain" holds sweep '"access_rate" not in r or r["access_rate"]["size_axis_high"] == 1'
run "$report" sweep.rprof
check "the summary says how far off it is" out_has '^Truth: +every access was counted'
run "$report" --mrc sweep.rprof
check "the curve has a column with the truth" out_has 'misses +truth'

# With the same stack and addresses, that is: otherwise the C library's string functions make other accesses.
# What was counted may differ by an access, from the process's number or the time of day.
if setarch -R true 2>>err; then
    for name in first other; do
        simulate="setarch -R $simulate" simulated $name "$micro/sweep" --bytes 1408K --iterations 220
    done
    check "the same seed gives the same samples" python3 -c '
import json
a, b = (json.load(open(n + ".json")) for n in ("first", "other"))
def estimate(report):
    return [{k: v for k, v in point.items() if k != "truth"} for point in report["mrc"]]
assert a["samples"] == b["samples"] and a["watches"] == b["watches"] and estimate(a) == estimate(b)'
else
    skip "the same seed gives the same samples" "addresses are random here: setarch -R is not permitted"
fi

for layout in ibs spe; do
    simulated $layout --simulate-layout $layout -p 5000 "$micro/stencil" --iterations 3
    check "records of $layout carry the samples" holds $layout \
        "r['samples'] > 500 and r['truth']['mrc_error'] < 0.02 and r['run']['simulate_layout'] == '$layout'"
done
simulated arm --simulate-trap before --simulate-register 64 "$micro/stencil" --iterations 25
check "registers of a line that trap before the access" holds arm \
    'r["watches"]["reused"] > 50 and r["truth"]["mrc_error"] < 0.03'
simulated loss --simulate-loss 30 --simulate-skid 50 "$micro/sweep" --bytes 1408K --iterations 220
check "lost records are counted, late ones taken" holds loss \
    '0.6 < r["samples"] * 1e5 / r["accesses"]["value"] < 0.8 and r["lost"]["buffer"] > 100 and r["truth"]["mrc_error"] < 0.03'
simulated threads -p 20000 "$micro/stream" --threads 3 --bytes 1M --iterations 10
check "each thread has its own PMU" holds threads 'sum(t["bursts"] > 20 for t in r["threads"]) == 3'
run env REUSE_SIMULATE_SKID=9 REUSE_PERIOD=20000 $simulate -o environment.rprof "$micro/sweep" --bytes 64K --iterations 100
run "$report" --format json environment.rprof
cp out environment.json
check "the environment works as well" holds environment \
    'r["run"]["simulate_skid"] == "9" and r["run"]["period"] == "20000"'

# Communication: estimated and counted, of one run. One run in twenty lies outside its interval: of three, two must
# not, which fails once in 140 times. Each iteration hands 16 lines and a turn on, which is 18 transfers or more.
communicates() {
    local name=$1 threads=$2 seed held=0
    for seed in 1 2 3; do
        simulated "$name" --seed $seed -p 1000 "$micro/handover" --pattern "$name" --threads "$threads" --iterations 8000
        "$report" --format json --sharing "$name.rprof" >"$name.json" 2>>err
        holds "$name" "(lambda t: t['all'] > 16 * 8000 and t['estimate_lo'] <= t['all'] <= t['estimate_hi'] and
            0.5 < t['estimate'] / t['all'] < 2 and t['matrix_error'] < 0.5)(r['sharing']['truth'])" && [ $((++held)) -eq 2 ] && return 0
    done
    return 1
}
for case in "ping-pong 2" "producer-consumer 2" "migratory 4"; do
    read -r pattern threads <<<"$case"
    check "$pattern, $threads threads: transfers and matrix as they were counted, within the interval" \
        communicates "$pattern" "$threads"
done
run "$report" --sharing migratory.rprof
check "the section says how many were counted" out_has '^Truth: +[0-9.]+ [kM] transfers were counted'
simulated apart --no-sharing -p 1000 "$micro/handover" --threads 2 --iterations 500
run "$report" --sharing apart.rprof
check "with --no-sharing there is nothing, and it says why" out_has 'without --no-sharing'
simulated late --simulate-skid 9 -p 1000 "$micro/handover" --threads 2 --iterations 500
run "$report" --sharing late.rprof
check "nor with late records" out_has '--simulate-skid 0'

# A cache that all threads share, with and without data in common. --group: whatever caches this machine has.
# Five runs, for how threads take turns differs from one to the next, and sizes of one curve err together:
# one in ten covers a quarter of them.
shares() {
    local name=$1 i
    shift
    for i in 1 2 3 4 5; do
        run $simulate -p 1000 -o "$name$i.rprof" "$@"
        "$report" --format json --group all --summary --mrc "$name$i.rprof" >"$name$i.json" 2>>err
    done
    python3 - "$name"[1-5].json 2>>err <<'PYTHON'
import json, sys
shared = [json.load(open(name))["shared_caches"] for name in sys.argv[1:]]
assert len(shared) == 5
assert all(len(c) == 1 and c[0]["groups"] == 1 and len(c[0]["mrc"]) >= 48 for c in shared)
truths = [c[0]["truth"] for c in shared]
assert sum(t["error"] for t in truths) / 5 < 0.04, truths
assert sum(t["covered"] for t in truths) / 5 > 0.6, truths
PYTHON
}
check "threads with data of their own share a cache as it was counted" \
    shares own "$micro/stream" --threads 4 --bytes 1M --iterations 20
check "so do threads that hand data over" \
    shares handed "$micro/handover" --pattern producer-consumer --threads 4 --lines 512 --iterations 1000
# 32 KiB of cells: once a cache holds them, what one thread stores the others find there.
check "who uses what others used last is told" holds handed1 \
    'all(m["crossing"] > 0.02 for m in r["shared_misses"] if not m["beyond"])'
check "of data of their own nothing crosses" python3 -c '
import json
assert all(m["crossing"] < 0.02 for m in json.load(open("own1.json"))["shared_misses"] if not m["beyond"])'
run "$report" --group all --mrc handed1.rprof
check "the curve of the shared cache has its truth beside it" out_has '^Misses per access of a cache that threads share'
check "and says how far off it is" out_has 'off by [0-9.]+ points on average'
simulated alone "$micro/sweep" --bytes 64K --iterations 20
"$report" --format json --group all --mrc alone.rprof >alone.json
check "one thread shares nothing" holds alone '"shared_caches" not in r'

# What a profile of counts alone cannot say.
run "$REUSE_BUILDDIR/postproc/reuse-run" --engine exact -q -o exact.rprof "$micro/sweep" --bytes 64K --iterations 10
run "$report" --format json exact.rprof
check "an exact profile has nothing to compare" [ "$(grep -c '"truth"' out)" = 0 ]

run env REUSE_RATE=0.1 $simulate -o rate.rprof /bin/true
check "a share of the lines is not enough" err_has "REUSE_RATE leaves accesses out, and the engine simulate needs all of them"
run $simulate --simulate-layout xyz /bin/true
check "an unknown layout is refused" err_has "'xyz' is not pebs, ibs or spe"
run $simulate --simulate-register 48 /bin/true
check "so is a register of 48 bytes" err_has "'48' is not a power of two from 8 to 128"
run env PATH=/nowhere "$REUSE_BUILDDIR/postproc/reuse-run" --engine simulate /bin/true
check "without QEMU it says what to install" err_has 'the engine simulate runs programs in QEMU, but qemu-x86_64 is not in PATH'
finish
