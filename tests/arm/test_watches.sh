#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Watchpoints that trap before the access: no program may hang on one, or see a difference. The limits of time
# are there to end a program that hangs.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
bin=$REUSE_BUILDDIR/postproc micro=$REUSE_BUILDDIR/microbench
programs=$REUSE_BUILDDIR/tests

# In turns time is instructions. In parallel it is the host's, of which a handler takes so much more that a budget
# would hardly pay for any sample.
rounds=8000 milliseconds=600 squares=60000 usual="--budget 25"
[ -z "${ARM_PARALLEL:-}" ] || rounds=3000 milliseconds=3000 squares=400000 usual="--period 20000000"

# profiled NAME LIMIT PROGRAM...: same output and status as without us, in time; sampled as $sampling says
sampling=$usual
profiled() {
    local name=$1 limit=$2
    shift 2
    "$@" >"$work/native" 2>"$work/native-errors"
    local expected=$?
    # shellcheck disable=SC2086
    run timeout "$limit" "$bin/reuse-run" -q -e clock --seed 5 $sampling -o "$work/p.rprof" -- "$@"
    check "$name: same status" status_is "$expected"
    check "$name: same output" cmp -s "$work/out" "$work/native"
    run "$bin/reuse-report" --format json "$work/p.rprof"
    cp "$work/out" "$work/report"
}

# holds NAME EXPRESSION: true of the report `r`
holds() {
    check "$1" python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2]))' "$work/report" "$2"
}

# Nearly all its accesses are exclusive: so are those that a watch traps on.
profiled "exclusive pairs of one thread" 100 "$programs/arm/exclusive_counters" 1 8000
holds "they are watched" 'r["watches"]["reused"] > 0'
# Where processors take turns, a thread's CPU time counts the other's turns, those that come while it is in our
# handler included: a budget would be spent on them.
sampling="--period 10000000"
profiled "exclusive pairs of two threads" 100 "$programs/arm/exclusive_counters" 2 "$rounds"
holds "both threads are sampled" 'r["samples"] > 10 and [t["bursts"] > 0 for t in r["threads"]] == [True, True]'
holds "both threads are watched" 'r["watches"]["reused"] > 0'
sampling=$usual
profiled "four threads on arrays of their own" 100 "$micro/stream" --iterations 1
holds "all of them are there" 'len(r["threads"]) == 4'
# The register that sees the stores is armed in all threads, and put aside in all of them.
# shellcheck disable=SC2086
run timeout 100 "$bin/reuse-run" -q -e clock $usual -o "$work/p.rprof" -- \
    "$programs/integration/programs/clock_targets" shared "$milliseconds"
check "a writer and a reader in turns: status" status_is 0
run "$bin/reuse-report" --format json "$work/p.rprof"
cp "$work/out" "$work/report"
holds "stores of another thread are seen" 'r["watches"]["invalidated"] > 0'
profiled "an interpreter" 100 python3 -c "print(sum(len(str(i * i)) for i in range($squares)))"
holds "its watches ended in a recorded way" \
    'r["watches"]["armed"] > 0 and sum(r["watches"][k] for k in ("reused", "invalidated", "evicted", "ended")) >= 0.99 * r["watches"]["armed"]'
finish
