#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A report on a profile of 14 MB, which 5000 bursts at thousands of places in a large program make,
# takes under 6 s of processor time as text, under 9 s as JSON, which lists more, and under 500 MB.
# Processor time grows by a third and more where others compete for the caches. Of more bursts than 4096
# a random part is evaluated.
# Rests on timing: see tests/run.
. "$(dirname "$0")/tap.bash"
here=$(cd "$(dirname "$0")" && pwd)
report=$REUSE_BUILDDIR/postproc/reuse-report
script=$REUSE_BUILDDIR/tests/support/profile_script

if nm "$report" | grep -qE '__(asan|ubsan|tsan)_'; then
    skip "speed" "sanitizers slow the report down"
    finish
    exit 0
fi
# The report itself is the large program that everybody has here with debug information.
python3 "$here/report_large.py" "$report" | "$script" "$work/large.rprof" || exit 1
size=$(stat -c %s "$work/large.rprof")
check "the profile is about 14 MB" test "$size" -gt 13000000

cat >"$work/measure.py" <<'END'
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:], stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds, mebibytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
print(f"{seconds:.1f} s of processor time, {mebibytes:.0f} MiB")
limit = float(sys.argv[1])
sys.exit(status or not (seconds < limit and mebibytes < 500 / 1.048576))
END
for options in "" "--format json"; do
    limit=6
    [ -z "$options" ] || limit=9
    run python3 "$work/measure.py" "$limit" "$report" $options "$work/large.rprof"
    echo "# ${options:-default}: $(cat "$work/out")"
    check "seconds and megabytes, ${options:-default sections}" status_is 0
done

run "$report" "$work/large.rprof"
check "a report says that it rests on a part of the bursts" out_has \
    '5000, of which [34][0-9]{3} are evaluated, drawn at random'
run "$report" --format json "$work/large.rprof"
cp "$work/out" "$work/part.json"
run "$report" --all-bursts --format json "$work/large.rprof"
check "the part and all bursts say the same of all levels, and of as many accesses" python3 - "$work/part.json" "$work/out" <<'END'
import json, sys
part, whole = (json.load(open(name)) for name in sys.argv[1:])
assert part["bursts"] == whole["bursts"] == whole["bursts_evaluated"] == 5000
assert 3700 < part["bursts_evaluated"] < 4700
assert abs(part["accesses"]["value"] / whole["accesses"]["value"] - 1) < 0.01
for a, b in zip(part["misses"], whole["misses"]):
    assert a["miss_ratio_lo"] <= b["miss_ratio"] <= a["miss_ratio_hi"]
END

# In units of the report itself, for machines differ by more than the hints do: 2.5 to 3 times were seen.
python3 "$here/report_large.py" "$report" 2000 | "$script" "$work/hints.rprof" || exit 1
seconds_of() {
    bash -c 'TIMEFORMAT=%U; time "$@" >/dev/null' - "$report" --format json "$@" "$work/hints.rprof" 2>&1
}
run awk -v hints="$(seconds_of --sector-hints)" -v plain="$(seconds_of)" 'BEGIN { print hints, plain }'
check "sector hints for 200 objects within five times the CPU time of the report" \
    awk '{ exit !($1 > 0 && $1 < 5 * $2) }' "$work/out"

# script gives its command a terminal and writes down what appears there.
run script -qec "'$report' -o '$work/report.txt' '$work/large.rprof'" "$work/typescript"
check "a terminal shows what is being done and for how long" out_has 'reuse-report: [a-z ]+, [0-9]+ s'
check "and is clean at the end" bash -c "tail -c 4 '$work/out' | od -An -c | grep -q '033 *\\[ *K'"
run "$report" -o "$work/report.txt" "$work/large.rprof"
check "where stderr is no terminal nothing is shown" test ! -s "$work/err"
finish
