#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# From a profile to a mapping to bound threads: reuse-report --placement, reuse-run --place.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
reuse_report=$REUSE_BUILDDIR/postproc/reuse-report
handover=$REUSE_BUILDDIR/microbench/handover
affinity=$REUSE_BUILDDIR/tests/integration/programs/target_affinity
cd "$work" || exit 1
unset OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY KMP_AFFINITY
cpu=$(taskset -cp $$ | sed -E 's/.*: ([0-9]+).*/\1/')
allowed=$(nproc)

# ---- applying a mapping ----
printf 'program target_affinity\nthread 0 %d\nthread 2 %d\nthread 3 any\n' "$cpu" "$cpu" >map
run "$reuse_run" -e none --place map "$affinity" 4 fork
check "the program runs" status_is 0
check "the main thread is free until it makes others" out_has "^before $allowed\$"
check "the main thread is bound" out_has "^thread 0 $cpu\$"
check "a thread is bound" out_has "^thread 2 $cpu\$"
if [ "$allowed" -gt 1 ]; then
    check "a thread that may go anywhere does" out_has "^thread 3 .*,"
    check "a thread without a line stays free" out_has "^thread 1 .*,"
    check "a forked child is free" out_has "^child .*,"
else
    skip "free threads" "one CPU"
fi
check "one line says which thread has no line" err_has "thread 1 has no line"
check "and no more" err_is_one_line
run "$reuse_run" -q -e none --place map "$affinity" 4
check "nothing is said when quiet" err_is_empty
run "$reuse_run" -q --place map -o bound.rprof "$affinity" 4
check "threads are bound under the profiler too" out_has "^thread 2 $cpu\$"
printf 'thread 1 any\nothers %d\n' "$cpu" >map
run "$reuse_run" -e none --place map "$affinity" 3
check "others are bound" out_has "^thread 2 $cpu\$"
check "the main thread is among them" out_has "^thread 0 $cpu\$"
printf 'program another\nthread 1 %d\n' "$cpu" >map
run "$reuse_run" -e none --place map "$affinity" 2
check "another program's mapping is not applied" [ "$(grep -c "^thread . $cpu\$" out)" -eq $((allowed == 1 ? 2 : 0)) ]
check "silently" err_is_empty
printf 'thread 1 %d\n' "$cpu" >map
REUSE_PLACE=$work/map LD_PRELOAD=$REUSE_BUILDDIR/runtime/.libs/libreuse-place.so run "$affinity" 2
check "the library works by itself" out_has "^thread 1 $cpu\$"
readelf --dyn-syms --wide "$REUSE_BUILDDIR/runtime/.libs/libreuse-place.so" |
    awk '$5 == "GLOBAL" && $6 != "HIDDEN" && $7 != "UND" { print $8 }' >out
check "the library exports one wrapper" [ "$(cat out)" = pthread_create ]

# ---- where it cannot be applied ----
printf 'thread 0 65535\n' >map
run "$reuse_run" -e none --place map "$affinity" 2
check "a CPU that is not there: the program runs" status_is 0
check "unbound, which one line says" err_has "not bound: CPU 65535 of .*map is not here"
check "one line" err_is_one_line
printf 'thread 0 0\nthread 0 0\n' >map
run "$reuse_run" -e none --place map "$affinity" 2
check "a wrong mapping is refused" fails_with 125 "place map: line 2"
run "$reuse_run" -e none --place nothing "$affinity" 2
check "a missing one too" fails_with 125 "nothing: No such file"
printf 'thread 1 %d\n' "$cpu" >map
OMP_PLACES=cores run "$reuse_run" -e none --place map "$affinity" 2
check "a rival is named" err_has "OMP_PLACES is set"

# ---- finding one ----
needs_qemu "mappings from profiles"
topology='pack:2 l3:2 core:2 pu:1'
"$reuse_run" -q -e exact -o pairs.rprof "$handover" --pattern pairs --threads 8 --iterations 200 \
    >/dev/null 2>&1
run "$reuse_report" --placement --topology "$topology" pairs.rprof
check "a report on placement" status_is 0
check "as the machine has it" out_has "2 packages / 4 L3 caches /"
check "that binding matters" out_has "^Bind the threads"
run "$reuse_report" --placement --topology "$topology" --format json pairs.rprof
cat >check.py <<'PYTHON'
import json, sys
placement = json.load(open(sys.argv[1]))["placement"]
mapping = {row["thread"]: row["cpu"] for row in placement["mapping"]}
assert sorted(mapping.values()) == list(range(8)), mapping
# Threads 2i and 2i + 1 exchange their lines: each pair in one L3 cache.
assert all(mapping[t] // 2 == mapping[t + 1] // 2 for t in range(0, 8, 2)), mapping
costs = {row["mapping"]: row for row in placement["costs"]}
assert costs["found"]["hop_bytes"] <= costs["identity"]["hop_bytes"]
assert costs["found"]["hop_bytes"] < 0.6 * placement["random_median"]
assert costs["found"]["kept"]["L3 cache"] > 0.9
assert placement["saving"]["over_random"]["lo"] > 0.4
assert placement["heterogeneity"] > 100
assert placement["verdict"] in ("matters", "identity is as good")
assert any("taskset -c 0-7" == row["text"] for row in placement["bindings"])
PYTHON
check "partners share a cache" python3 check.py out
run "$reuse_report" --placement --topology 'pack:1 core:3 pu:1' pairs.rprof
check "more threads than cores" out_has "3 places \(cores\): oversubscribed, evenly"
unwrapped() { tr -s ' \n' '  ' <out; }
check "and what that means" grep -qF \
    "fewer cores than the profile has threads at work, 3 for 8: up to 3 threads share one" <(unwrapped)
run "$reuse_report" --placement --topology 'pack:1 core:1 pu:2' pairs.rprof
check "CPUs of one core" grep -qF "fewer CPUs than the profile has threads at work, 2 for 8: up to 4" <(unwrapped)
run "$reuse_report" --placement --topology 'pack:1 core:1 pu:1' pairs.rprof
check "a single core" grep -qF "fewer cores than the profile has threads at work, 1 for 8: up to 8" <(unwrapped)
run "$reuse_report" --placement --topology 'pack:1 core:8 pu:1' pairs.rprof
check "not where each has its own" [ "$(unwrapped | grep -c 'at work, ')" -eq 0 ]
run "$reuse_report" --placement --machine a64fx pairs.rprof
check "on a described machine" out_has "a64fx: 1 machine / 4 L2 caches / 48 cores"
run "$reuse_report" --placement=spread --topology 'pack:2 l3:2 core:8 pu:1' --format json pairs.rprof
check "spread when asked for" python3 -c "
import json
p = json.load(open('out'))['placement']
assert p['style'] == 'spread'
caches = [row['cpu'] // 8 for row in p['mapping']]
assert all(caches.count(c) == 2 for c in range(4)), caches"
run "$reuse_report" --placement -o mapping pairs.rprof
check "the mapping goes to a file" grep -qx "program handover" mapping
check "each thread in a line" [ "$(grep -cE '^thread [0-7] [0-9]+$' mapping)" -eq 8 ]
check "the rest is comment" [ "$(grep -cvE '^(#|thread|program)' mapping)" -eq 0 ]
run "$reuse_run" -e none --place mapping "$handover" --pattern pairs --threads 8 --iterations 20
check "and is applied" status_is 0
check "without a word" err_is_empty

# Each thread stores to 1500 lines and loads its neighbour's: 188 KiB, of which two threads share half.
"$reuse_run" -q -e exact -o ring.rprof "$REUSE_BUILDDIR/microbench/contention" --pattern barrier \
    --threads 4 --lines 1500 --iterations 20 >/dev/null 2>&1
run "$reuse_report" --placement --topology 'pack:2 l3:2(size=262144) core:4 pu:1' ring.rprof
check "caches for one thread each: a conflict" out_has "^Packing and spreading are in conflict"
check "the threads are spread" out_has "spreading is cheaper"
run "$reuse_report" --placement --topology 'pack:2 l3:2(size=4194304) core:4 pu:1' ring.rprof
check "caches for all: none" [ "$(grep -c "in conflict" out)" -eq 0 ]
check "the threads stay together" out_has "^found, packed .* 100.0 +100.0"
check "as the identity has them" out_has "^Bind the threads close"

# Threads in turn store to lines drawn at random: everybody with everybody.
"$reuse_run" -q -e exact -o even.rprof "$handover" --pattern random --threads 8 --iterations 200 \
    >/dev/null 2>&1
run "$reuse_report" --placement --topology "$topology" even.rprof
check "no structure: it does not matter" out_has "^Placement does not matter here"
run "$reuse_report" --placement --topology "$topology" --format json even.rprof
check "how little it saves" python3 -c "
import json
p = json.load(open('out'))['placement']
assert p['verdict'] == 'does not matter' and p['saving']['over_random']['value'] < 0.03, p['saving']
assert 0 < p['heterogeneity'] < 200"
# Few accesses beside a thread that makes nearly all: a thread that exchanges data needs its place all the same.
gcc -std=gnu11 -g -O1 -o one_busy "$REUSE_SRCDIR/tests/integration/programs/one_busy.c" -lpthread || exit 1
"$reuse_run" -q -e exact -o busy.rprof ./one_busy >/dev/null 2>&1
run "$reuse_report" --placement --topology "$topology" busy.rprof
check "threads that exchange data are not idle" out_has '^Threads: +3 to place, 1 idle'
"$reuse_run" -q -e exact -o one.rprof "$REUSE_BUILDDIR/microbench/stream" --threads 1 --iterations 1 \
    >/dev/null 2>&1
run "$reuse_report" --placement one.rprof
check "one thread: nothing to place" out_has "one thread at work"

# ---- wrong usage ----
run "$reuse_report" --placement --topology 'nonsense' pairs.rprof
check "a topology that is none" fails_with 1 "topology 'nonsense'"
run "$reuse_report" --topology 'core:2 pu:1' pairs.rprof
check "a topology without placement" fails_with 2 "topology is for --placement"
run "$reuse_report" --placement=near pairs.rprof
check "an unknown style" fails_with 2 "auto, pack or spread"
run "$reuse_report" --placement pairs.rprof pairs.rprof
check "two processes" out_has "threads of one process"
finish
