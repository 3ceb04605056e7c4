#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-doctor where performance events are forbidden: it survives, and tells the causes apart.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
doctor=$REUSE_BUILDDIR/postproc/reuse-doctor
deny=$REUSE_BUILDDIR/tests/support/deny_perf

field() { # ID FIELD of the JSON report in $work/out
    python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
print(next(f for f in report["findings"] if f["id"] == sys.argv[2])[sys.argv[3]])' "$work/out" "$@"
}
has() { field "$1" "$2" | grep -qE -- "$3"; }
engine_is() {
    python3 -c 'import json, sys
sys.exit(json.load(open(sys.argv[1]))["engines"][sys.argv[2]]["state"] != sys.argv[3])' "$work/out" "$@"
}

run "$deny" EPERM true
if [ "$status" -eq 99 ]; then
    echo "1..0 # SKIP seccomp filters cannot be installed here"
    echo "ok 1 - refusals # SKIP seccomp filters cannot be installed here"
    echo "1..1"
    exit 0
fi

run "$deny" EPERM "$doctor" --format json
check "EPERM: survives" err_is_empty
check "EPERM: a filter is named" has permission meaning 'filter of the container'
check "EPERM: way out" has permission remedy '--cap-add=PERFMON'
check "EPERM: seccomp is seen in force" has seccomp result 'a filter is in force'
check "EPERM: the clock engine cannot work" engine_is clock missing
for probe in clock registers trap inherited counting; do
    check "EPERM: $probe does not blame the hardware" has "$probe" result 'EPERM'
done

run "$deny" ENOSYS "$doctor" --format json
if [ -e /proc/sys/kernel/perf_event_paranoid ]; then
    check "ENOSYS: the filter is told from an old kernel" has permission meaning 'seccomp filter answers'
else
    check "ENOSYS: a kernel without events" has permission meaning 'built without performance events'
fi
check "ENOSYS: the clock engine cannot work" engine_is clock missing

run "$deny" EACCES "$doctor" --format json
check "EACCES: refused" has permission result 'EACCES'
check "EACCES: the setting is quoted" has permission result 'kernel.perf_event_paranoid is'

run "$deny" kill "$doctor" --format json
check "a filter that kills: survives" has permission result 'SIGSYS'
check "... and says what it means" has permission meaning 'would die of it'
check "... and the rest of the report is there" has libc tried 'DWARF'
check "... in text as well" bash -c "'$deny' kill '$doctor' | grep -q 'killed by SIGSYS'"

# kernel.perf_event_paranoid as Debian and Ubuntu ship it: another value shown in /proc, and the
# kernel's answer to it, for an unprivileged user.
echo 4 >"$work/paranoid"
chmod 644 "$work/paranoid"
strict() {
    unshare -m bash -c '
        mount --bind "$1" /proc/sys/kernel/perf_event_paranoid || exit 98
        shift
        exec "$@"' strict "$work/paranoid" "$@"
}
run strict true
if [ "$status" -eq 0 ] && command -v setpriv >/dev/null && id nobody >/dev/null 2>&1 &&
    setpriv --reuid=nobody --clear-groups test -x "$doctor"; then
    run strict setpriv --reuid=nobody --clear-groups "$deny" EACCES "$doctor" --format json
    check "paranoid 4: value and needed value" has paranoid result '^4 \(needed: at most 2\)'
    check "paranoid 4: the command" has paranoid remedy 'sysctl kernel.perf_event_paranoid=2'
    check "paranoid 4: the refusal is put down to it" has permission result 'is 4, needed is 2'
    run strict "$doctor" --format json
    check "paranoid 4, privileged: no obstacle" has paranoid state '^works$'
else
    for name in "value and needed value" "the command" "the refusal is put down to it" \
        "no obstacle to the privileged"; do
        skip "paranoid 4: $name" "needs root, mount namespaces, nobody and a readable build"
    done
fi
finish
