#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-report --merge of many files: memory that does not grow with them, counts that do not depend
# on their order, and bad files that are named while the rest is merged.
. "$(dirname "$0")/tap.bash"
report=$REUSE_BUILDDIR/postproc/reuse-report
script=$REUSE_BUILDDIR/tests/support/profile_script
ranks=$REUSE_BUILDDIR/tests/support/rank_profiles
cd "$work" || exit 1

# The most memory that a command had, in KiB: no less than Python's own 14 MiB, as which it begins.
# With a sanitizer, what was freed is to be used again at once.
peak_kib() {
    ASAN_OPTIONS=quarantine_size_mb=0:thread_local_quarantine_size_kb=0 python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@" 2>"$work/err"
}

# Ten times as many files of about 100 KiB, of which none is held: less than a tenth of their bytes
# may be seen. What is kept of each (its caches, its name) is below 1 KiB.
for kind in bursts histograms; do
    mkdir $kind
    "$ranks" $kind 400 70 $kind || exit 1
    few=$(peak_kib "$report" --merge -o few.rprof $kind/rank.000[0-3]*.rprof)
    all=$(peak_kib "$report" --merge -o $kind.rprof $kind/*.rprof)
    bytes=$(cat $kind/*.rprof | wc -c)
    echo "# $kind: 40 files $few KiB, 400 files $all KiB, of $((bytes / 1024)) KiB of input"
    check "memory does not grow with the files ($kind)" \
        test "$few" -gt 0 -a "$((all - few))" -lt "$((bytes / 1024 / 10))" -a "$all" -lt 262144
done

# Counts of every type of record and sums of their fields, but for the numbers of identifiers, which
# are given in the order of the files.
counts() { # FILE
    "$REUSE_BUILDDIR/tests/support/profile_dump" "$1" | grep -vE '^(probes.path|sample.burst_id) '
}
estimates() { # FILE
    "$report" --format json --mrc --summary "$1" | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["processes"], r["samples"], *("%.6e" % r["accesses"][end] for end in ("lo", "value", "hi")))
print(*("%.8f" % point[end] for point in r["mrc"] for end in ("lo", "miss_ratio", "hi")))'
}
for kind in bursts histograms; do
    ls $kind/*.rprof | head -n 60 >names
    "$report" --merge -o forward.rprof $(cat names) || exit 1
    "$report" --merge -o backward.rprof $(tac names)
    "$report" --merge -o first.rprof $(sort -R names | tee mixed | head -n 25)
    "$report" --merge -o second.rprof $(tail -n 35 mixed)
    "$report" --merge -o tree.rprof second.rprof first.rprof
    counts forward.rprof >forward.counts
    estimates forward.rprof >forward.estimates
    check "all of it is there ($kind)" grep -qx 'origin 60' forward.counts
    for order in backward tree; do
        counts $order.rprof >out
        check "the same counts in another order ($kind, $order)" cmp forward.counts out
        estimates $order.rprof >out
        check "the same estimates and intervals in another order ($kind, $order)" \
            sh -c "test -s out && cmp forward.estimates out"
    done
done

printf 'defaults\nthread 1 main\nprobes 1 0:3=2048\nburst 1 0\nfinish\n' | "$script" good.rprof
printf 'defaults\nthread 2 main\nprobes 1 0:3=2048\nburst 1 0\nfinish\n' | "$script" other.rprof
"$report" --merge -o expected.rprof good.rprof other.rprof

# Bad files: one line for each, the rest is merged, and a status that says that something is missing.
: >empty.rprof
head -c 13 good.rprof >header.rprof
head -c 4096 /dev/zero >zeros.rprof
cp /bin/true foreign.rprof
cp good.rprof older.rprof
printf '\001' | dd of=older.rprof bs=1 seek=12 conv=notrunc status=none
printf 'cut\n' | "$script" bare.rprof
mkdir folder.rprof
same_as() { # FILE: the last run wrote what the merge of the good ones wrote
    counts all.rprof | cmp - <(counts "$1")
}
for bad in empty header zeros foreign older bare folder missing; do
    for files in "$bad.rprof good.rprof other.rprof" "good.rprof other.rprof $bad.rprof"; do
        rm -f all.rprof
        run "$report" --merge -o all.rprof $files
        check "named and left out: $files" fails_with 1 "^reuse-report: left out: .*'$bad.rprof'"
        check "the rest is merged: $files" same_as expected.rprof
    done
done
run "$report" --merge -o all.rprof empty.rprof good.rprof zeros.rprof other.rprof missing.rprof
check "three bad files: three lines" test "$status" -eq 1 -a "$(wc -l <err)" -eq 3
check "three bad files: the rest is merged" same_as expected.rprof
rm -f all.rprof
run "$report" --merge -o all.rprof empty.rprof missing.rprof
check "nothing to merge: no output" test "$status" -eq 1 -a ! -e all.rprof -a "$(wc -l <err)" -eq 2
cp expected.rprof all.rprof
run "$report" --merge -o all.rprof empty.rprof
check "nothing to merge: what was there stays" cmp all.rprof expected.rprof

# A file that was cut by a full disk, or changed: what is whole counts, as in a report on it.
whole=bursts/rank.00001.rprof
head -c 60001 $whole >cut.rprof
cp $whole changed.rprof
printf 'xxxxxxxx' | dd of=changed.rprof bs=1 seek=60001 conv=notrunc status=none
for bad in cut changed; do
    for files in "$bad.rprof bursts/rank.00002.rprof" "bursts/rank.00002.rprof $bad.rprof"; do
        run "$report" --merge -o all.rprof $files
        check "named: $files" fails_with 1 "^reuse-report: '$bad.rprof' is cut short or damaged"
        "$report" --format json --summary $files 2>/dev/null | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["processes"], r["samples"], r["accesses"]["value"])' >together
        "$report" --format json --summary all.rprof | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["processes"], r["samples"], r["accesses"]["value"])' >merged
        check "merged as far as it is whole, as a report on both: $files" \
            sh -c 'test -s merged && cmp together merged'
    done
done

# Files that contradict each other: neither is the bad one.
printf 'defaults\nrun engine exact\nfinish\n' | "$script" exact.rprof
for files in "good.rprof exact.rprof" "exact.rprof good.rprof"; do
    rm -f all.rprof
    run "$report" --merge -o all.rprof $files
    check "files of two engines: $files" fails_with 1 "engine .*merge them apart"
    check "no output: $files" test ! -e all.rprof
done
run "$report" --merge -o /dev/full good.rprof empty.rprof other.rprof
check "a full disk ends it" test "$status" -eq 1 -a "$(grep -c 'No space left' err)" -eq 1

# A profile may come through a pipe.
"$report" --merge -o all.rprof <(cat good.rprof) other.rprof 2>err
check "a profile through a pipe" same_as expected.rprof
finish
