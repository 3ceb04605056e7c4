#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Communication end to end: what reuse-report says of exact profiles of the microbenchmarks against their
# truth, and how the profiles are shown.
# Runs beside others.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
launcher=$REUSE_BUILDDIR/postproc/reuse-run
report=$REUSE_BUILDDIR/postproc/reuse-report
microbench=$REUSE_BUILDDIR/microbench
compare=$REUSE_SRCDIR/tests/integration/check_communication.py

needs_qemu "communication in exact profiles"
cd "$work" || exit 1

# agrees LINE_SIZE PROGRAM ARGUMENTS...: the report agrees with the program's own truth.
agrees() {
    local size=$1 program=$2
    shift 2
    rm -f p.rprof
    run "$launcher" -q -e exact --line-size "$size" -o p.rprof "$microbench/$program" "$@" --truth truth.json
    if [ "$status" -ne 0 ]; then
        check "$program $*: runs" status_is 0
        return
    fi
    "$report" --format json --sharing --matrix p.rprof >report.json 2>report.err
    run python3 "$compare" truth.json report.json 8
    check "$program $*, lines of $size" status_is 0
}
agrees 64 handover --iterations 1000
agrees 64 handover --own-words --iterations 1000
agrees 256 handover --own-words --threads 4 --iterations 300
agrees 64 handover --pattern pairs --threads 4 --writes 25 --iterations 500
agrees 64 handover --pattern pairs --threads 6 --own-words --iterations 300
agrees 64 handover --pattern producer-consumer --threads 3 --iterations 500
agrees 64 handover --pattern producer-consumer --threads 3 --own-words --iterations 500
agrees 64 handover --pattern migratory --threads 5 --iterations 300
agrees 64 handover --pattern read-mostly --threads 4 --iterations 500
agrees 64 handover --pattern random --threads 6 --sharing 70 --false 60 --iterations 150
agrees 128 handover --pattern random --threads 4 --false 30 --iterations 150
agrees 64 object-kinds --iterations 1000
agrees 64 object-kinds --same-member --iterations 1000
agrees 64 contention --pattern barrier --threads 4 --iterations 200
agrees 64 contention --pattern queue --iterations 2000
agrees 64 contention --pattern queue --threads 4 --iterations 1000
agrees 64 contention --pattern reduction --threads 4 --padding 64 --iterations 1000
agrees 64 contention --pattern write-volume --threads 3 --false 50 --iterations 200

# The shapes in which a matrix can be had.
run "$launcher" -q -e exact -o halo.rprof "$microbench/contention" --pattern barrier --threads 12 --iterations 40
run "$report" --matrix halo.rprof
# Threads are numbered as they begin, which need not be the order in which they were created.
check "a grid of shades" test "$(sed '/barriers, locks/,$d' out | grep -cE '^ +[0-9]+\|[^|]*@@[^|]*\|$')" -eq 12
check "... with its legend" out_has '^@ [0-9].*; then each a third: % # '
check "... no wider than a page" test "$(awk 'length > 80' out | wc -l)" -eq 0
check "waiting at the barrier is kept apart" out_has '^From thread .*: all transfers in barriers, locks'
run "$report" --matrix=war --runtime=drop halo.rprof
check "--matrix=war shows overwriting" out_has 'writes over what another had read'
check "--runtime=drop leaves waiting out" test "$(grep -c 'barriers, locks' out)" -eq 0
total() { "$report" --format json --matrix --runtime="$1" halo.rprof | python3 -c '
import json, sys
sharing = json.load(sys.stdin)["sharing"]
print(int(sharing["total"]["all"]["value"] + sharing.get("runtime", {"total": {"all": {"value": 0}}})["total"]["all"]["value"]))'; }
"$report" --sharing halo.rprof >split.txt && "$report" --sharing --runtime=include halo.rprof >include.txt
check "--sharing says what it leaves out" grep -q 'of the transfers are left out: code of the C library' split.txt
check "and nothing where it leaves nothing out" test "$(grep -c 'are left out' include.txt)" -eq 0
check "--runtime=include adds it to the others" test "$(total include)" -eq "$(total split)"
check "... which are fewer without it" test "$(total drop)" -lt "$(total split)"
run "$report" --csv-layout=table --matrix=raw halo.rprof
check "CSV: a header and a line per thread" test "$(wc -l <out)" -eq 13
check "... of so many fields" test "$(awk -F, 'NF == 13' out | wc -l)" -eq 13
run "$report" --csv-layout=eagermap --runtime=drop halo.rprof
check "EagerMap: whole numbers alone" test "$(grep -cE '^[0-9]+(,[0-9]+){11}$' out)" -eq 12
# Thread 0 starts every round for all others; nobody else has to do with all.
symmetric() { tac out | awk -F, '{ for (i = 1; i <= NF; i++) m[NR, i] = $i }
    END { for (i = 1; i <= NR; i++) for (k = 1; k <= NR; k++) if (m[i, k] != m[k, i]) exit 1
          if (m[1, 1] != 0) exit 1; for (k = 2; k <= NR; k++) if (m[1, k] < 40) exit 1 }'; }
check "... symmetric, and the last thread first" symmetric
run "$report" --matrix --by=core halo.rprof
check "no CPUs, no matrix by core" out_has 'no matrix by core'
run "$report" --matrix=most halo.rprof
check "an unknown kind" fails_with 2 "wants all, true, false, raw, war or waw, not 'most'"
run "$report" --csv-layout=eagermap --format json halo.rprof
check "EagerMap in JSON" fails_with 2 'csv-layout is for CSV'

# Other programs: what moved is named as it was when it moved.
of_object() { "$report" --format json --sharing "$1" 2>report.err | python3 -c '
import json, sys
rows = [row for row in json.load(sys.stdin)["sharing"]["objects"] if row["name"] == sys.argv[1]]
print(max([int(row[sys.argv[2]]) for row in rows] + [0]))' "$2" "$3"; }
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; }
programs=$REUSE_BUILDDIR/tests/integration/programs
# Objects of several modules have one transfer each: nothing but their names can order them. Where things
# lie in the report's memory differs from run to run.
for i in 1 2 3 4 5 6 7 8; do
    "$report" --format json halo.rprof 2>/dev/null | md5sum
done | sort -u >reports
check "eight reports on one profile are the same" [ "$(wc -l <reports)" -eq 1 ]

run "$launcher" -q -e exact -o blocks.rprof "$programs/sharing_blocks"
check "a block comes where another was freed" test "$(sort -u out | wc -l)" -eq 1
check "... the first has its transfers" between "$(of_object blocks.rprof first_block waw)" 195 205
check "... and the second has its own" between "$(of_object blocks.rprof second_block waw)" 595 605
run "$report" --sharing blocks.rprof
check "members of a variable" out_has '^state\.ready +state\.done\[1\] +2 +1 +(2999|3000|3.00 k)'
check "... and what parts them" out_has 'Begin a line with done'
run "$report" blocks.rprof
check "... at least so many: an emulator counted them" out_has 'Transfers +are +at +least +those +counted'
run "$launcher" -q -e exact -o pool.rprof "$programs/sharing_pool"
run "$report" --sharing pool.rprof
check "C++: members of classes in a vector" out_has '^workers_\[[0-2]\]\.(done|total) +workers_\[[0-2]\]\.(done|total)'
check "C++: small blocks that lie side by side" out_has '^notes?(_\[[0-2]\])? +note'
check "... which aligned_alloc parts" out_has 'Allocate them with aligned_alloc\(64'
run "$launcher" -q -e exact -o openmp.rprof "$programs/target_openmp" 5
of_runtime() { "$report" --format json --matrix openmp.rprof | python3 -c '
import json, sys
print(int(json.load(sys.stdin)["sharing"]["runtime"]["total"]["all"]["value"]))'; }
check "OpenMP: barriers have a matrix of their own" test "$(of_runtime)" -gt 100
run "$report" --sharing --top 1000 openmp.rprof
check "... and are no part of the program's lines" test "$(grep -cE 'libgomp.so.* [0-9.]+( [kM])?$' out)" -eq 0

# Profiles that tell nothing.
run "$launcher" -q -e exact --no-sharing -o silent.rprof "$microbench/handover" --iterations 10
run "$report" --sharing silent.rprof
check "without communication: one line says so" out_has 'no communication|tells nothing of communication'
run "$report" --csv-layout=eagermap silent.rprof
check "... and no matrix is written" fails_with 1 'communication'
run "$launcher" -q -e exact -o single.rprof "$microbench/sweep" --bytes 4K --iterations 2
run "$report" --sharing --matrix single.rprof
check "one thread: one line" out_has 'The program has one thread'
run "$launcher" -q -e exact -o many.rprof "$microbench/handover" --pattern migratory --lines 2 --threads 120 --iterations 3
run "$report" --matrix many.rprof
check "more threads than the page is wide: blocks" out_has 'block of 2 x 2 of the 120'
check "... still no wider than a page" test "$(awk 'length > 80' out | wc -l)" -eq 0
finish
