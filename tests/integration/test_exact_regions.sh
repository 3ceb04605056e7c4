#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Regions of the exact engine: chosen functions, callees included, and spans of the API; stores of
# known number (tests/support/exact_regions.cc).
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
run_exact="$REUSE_BUILDDIR/postproc/reuse-run --engine exact"
report=$REUSE_BUILDDIR/postproc/reuse-report
program=$REUSE_BUILDDIR/tests/support/exact_regions

needs_qemu "regions of the exact engine"
cd "$work" || exit 1

# stores REGION: accesses to `data` in it.
stores() {
    "$report" --region "$1" --format json --objects --top 1000 regions.rprof | python3 -c '
import json, sys
print(sum(o["accesses"] for o in json.load(sys.stdin)["objects"] if o["name"] == "data"))'
}
run $run_exact -o regions.rprof --regions 'work,outer,jumps,throws,tail,deep,handler,in_*,space::*,main,nosuch' "$program"
check "the program runs" out_has '^done$'
check "a name that nothing has is told" err_has "no function 'nosuch' was loaded"
check "a function" test "$(stores work)" = 17000
check "with its callees" test "$(stores outer)" = 9000
check "left by longjmp" test "$(stores jumps)" = 1000
check "left by an exception" test "$(stores throws)" = 1000
check "left by a tail call" test "$(stores tail)" = 1000
check "recursive: once" test "$(stores deep)" = 1000
check "a signal handler on its own stack" test "$(stores handler)" = 1000
check "in another thread" test "$(stores in_thread)" = 3000
check "a method, by a wildcard" test "$(stores space::thing::method)" = 700
check "a span of the API" test "$(stores phase)" = 4000
check "a span in a span" test "$(stores 'part of it')" = 1000
check "everything" test "$(stores main)" = 17700
check "the API needs no option" test "$($run_exact -q -o regions.rprof "$program" >out && stores phase)" = 4000
# The rows of the published study (Breiter, LMU Munich 2022, Fig. 6), from counts by region.
run $run_exact -q --line-size 256 --partitions 4 --regions main,dmtvm -o sector.rprof \
    "$REUSE_BUILDDIR/microbench/dmtvm" --iterations 1
"$report" --sector-hints --machine a64fx --format json sector.rprof >out 2>err
within_a_hundredth() { # REGION LEVEL WAYS MISSES_SC MISSES_NOSC
    python3 -c 'import json, sys
region, level, ways, sc, nosc = sys.argv[1], *map(int, sys.argv[2:])
rows = [r for r in json.load(open("out"))["sector_hints"] if r["region"] == region and r["cache_level"] == level]
ok = [r for r in rows if r["data_struct"] == "m" and r["nways"] == ways
      and abs(r["misses_sc"] - sc) < 0.01 * sc and abs(r["misses_nosc"] - nosc) < 0.01 * nosc]
sys.exit(not ok)' "$@"
}
check "Fig. 6: main, L1" within_a_hundredth main 1 1 156824 236875
check "Fig. 6: main, L2" within_a_hundredth main 2 2 156583 157742
check "Fig. 6: dmtvm, L1" within_a_hundredth dmtvm 1 1 78447 157277
check "Fig. 6: dmtvm, L2" within_a_hundredth dmtvm 2 2 78237 78450
run $run_exact -q --rate 0.5 -o regions.rprof --regions outer "$program"
check "with a rate: the region is there" "$report" --region outer regions.rprof
finish
