#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-doctor: its two formats agree, its exit status follows from its verdicts, programs are judged.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
doctor=$REUSE_BUILDDIR/postproc/reuse-doctor
cd "$work" || exit 1

run "$doctor" --frobnicate
check "unknown option" fails_with 2 "unknown option '--frobnicate'"
run "$doctor" --format xml
check "unknown format" fails_with 2 "--format is text or json, not 'xml'"
run "$doctor" --format
check "missing value" fails_with 2 "missing after '--format'"
run "$doctor" one two
check "two programs" fails_with 2 "only one program"
run "$doctor" --help
check "--help" out_has '^Usage: reuse-doctor'
run "$doctor" --version
check "--version" out_has '^reuse-doctor [0-9]'
# Latencies: measured, kept, and taken by a report on this host, not on another.
REUSE_QUIET=1 REUSE_OUTPUT=$work/t.rprof LD_PRELOAD=$REUSE_BUILDDIR/runtime/.libs/libreuse.so env true
report=$REUSE_BUILDDIR/postproc/reuse-report
run "$report" --format json t.rprof
check "latencies are assumed" out_has 'another core 100 ns \(assumed\)'
core_takes_longer() {
    awk '/^L1/ { first = $2 } /^core/ { core = $2 } END { exit !(first > 0 && core > 2 * first) }' latencies
}
run "$doctor" --latencies
if grep -q 'caches of this machine are not known' err; then
    skip "latencies" "this machine does not tell its caches"
else
    check "--latencies" out_has '^L1 +[0-9.]+ ns +\(measured'
    check "... of memory, longer than of L1" awk '/^L1/ { first = $2 } /^memory/ { memory = $2 } END { exit !(first > 0 && memory > 4 * first) }' out
    cp out latencies
    check "... and where they are kept" out_has "^kept in $work/config/libreuse/"
    run "$report" --format json t.rprof
    # Of a line from another core: where there is one.
    if [ "$(nproc)" -gt 1 ]; then
        check "a report on this host takes them" out_has 'another core [0-9.]+ ns \(measured\)'
        check "... of another core, more than of L1" core_takes_longer
    else
        check "a report on this host takes them" out_has '\(measured; the last assumed\)'
    fi
    run env XDG_CONFIG_HOME=/proc/none "$doctor" --latencies
    check "nowhere to keep them" err_has "^reuse-doctor: /proc/none/.* the latencies cannot be kept"
    rm -r "$work/config"
fi
if [ -c /dev/full ]; then
    "$doctor" >/dev/full 2>"$work/err"
    status=$?
    check "output that cannot be written" err_has 'output cannot be written'
else
    skip "output that cannot be written" "no /dev/full"
fi

# JSON: every finding is complete, and the status follows from the engines.
run "$doctor" --format json
cp out report.json
cat >judge.py <<'PYTHON'
import json, sys
report = json.load(open("report.json"))
states = {"works", "limited", "missing", "information"}
assert report["schema"] == "reuse-doctor/1"
names = [finding["id"] for finding in report["findings"]]
assert len(names) == len(set(names)) and "program" not in names, names
for name in ("system permission paranoid capability seccomp descriptors clock registers trap "
             "inherited counting precise qemu libc").split():
    assert name in names, name
for finding in report["findings"]:
    assert finding["state"] in states and finding["tried"] and finding["result"], finding
    if finding["state"] in ("missing", "limited"):
        assert finding["meaning"], finding
usable = any(engine["state"] != "missing" for engine in report["engines"].values())
assert set(report["engines"]) == {"clock", "pmu", "exact"}
assert int(sys.argv[1]) == (0 if usable else 1), (sys.argv[1], report["engines"])
PYTHON
check "JSON is complete and agrees with the exit status" python3 judge.py "$status"

finding() { # ID FIELD of the last JSON report in $work/out
    python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
print(next(f for f in report["findings"] if f["id"] == sys.argv[2])[sys.argv[3]])' "$work/out" "$@"
}
has() { finding "$1" "$2" | grep -qE -- "$3"; }

run "$doctor" --format json
registers=$(finding registers result)
if [ "$(finding registers state)" = works ]; then
    check "the number of debug registers is told" [ "${registers%% *}" -ge 2 ]
    # What the doctor says is what the machine has: with one fewer, it counts one fewer.
    run "$REUSE_BUILDDIR/tests/support/hold_registers" 1 "$doctor" --format json
    check "one taken register is noticed" has registers result "^$((registers - 1))\\b"
    run "$REUSE_BUILDDIR/tests/support/hold_registers" all "$doctor" --format json
    check "no free register: said" has registers result '^0; the processor has at least .* taken'
    check "... with a way out" has registers remedy 'debugger'
    check "... and watchpoints cannot be tried" has trap result 'no debug register is free'
    check "... and the clock engine is limited, not dead" status_is 0
else
    for name in "the number of debug registers is told" "one taken register is noticed" \
        "no free register: said" "... with a way out" "... and watchpoints cannot be tried" \
        "... and the clock engine is limited, not dead"; do
        skip "$name" "debug registers are not usable here: $registers"
    done
fi

# Programs.
source='int main(void) { return 0; }'
compile() { printf '%s\n' "$source" | ${CC:-cc} -x c - "$@" 2>/dev/null; }
compile -g -o with_lines
run "$doctor" --format json ./with_lines
check "debug information is seen" has program state '^works$'
compile -o with_symbols
run "$doctor" --format json ./with_symbols
check "symbols only" has program result 'has symbols, but no debug information'
check "... and what to do" has program remedy 'compile it with -g'
strip with_symbols
run "$doctor" --format json ./with_symbols
check "stripped" has program result 'stripped'
if compile -static -o static; then
    run "$doctor" --format json ./static
    check "static" has program result 'statically linked'
else
    skip "static" "this compiler cannot link statically"
fi
run "$doctor" --format json ./nonexistent
check "no such program" has program result 'No such file'
head -c 40 with_lines >damaged
chmod +x damaged
run "$doctor" --format json ./damaged
check "damaged program" has program result 'damaged'
printf '#!%s/with_lines\n' "$work" >script
chmod +x script
run "$doctor" --format json ./script
check "a script is judged by its interpreter" has program result 'with_lines \(which runs the script\)'
run "$doctor" ./with_lines
check "the text names the program" out_has 'with_lines is dynamically linked'

# A Graviton that shows its counters only. Whether these open here does not matter.
mkdir -p graviton/armv8_pmuv3_0
echo arm 413fd0c1 >graviton/processor
echo 8 >graviton/armv8_pmuv3_0/type
run env REUSE_PMU_SYSFS="$work/graviton" "$doctor" --format json
check "a core with SPE that the kernel does not show: said" has precise meaning 'has SPE,.* no arm_spe_0'
check "... and what to do" has precise remedy 'modprobe arm_spe_pmu.*\.metal'
mkdir graviton/arm_spe_0
echo 9 >graviton/arm_spe_0/type
run env REUSE_PMU_SYSFS="$work/graviton" "$doctor" --format json
check "... not where it is shown" bash -c "! grep -q modprobe '$work/out'"

run env PATH=/nonexistent "$doctor" --format json
check "without qemu-user: said" has qemu result 'is not in PATH'
run bash -c "ulimit -Sn 64 && exec '$doctor' --format json"
check "few descriptors: said" has descriptors state '^limited$'
check "... and for how many threads they are enough" has descriptors meaning 'about 6 threads'
finish
