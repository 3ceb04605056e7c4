#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# The engine pmu where there is no PMU, or one that lies: refused with its reason, and clock goes on. The
# lie is a software event that sysfs files of our own (REUSE_PMU_SYSFS) give out as the unit, so that
# everything up to the verdict happens in the real kernel.
# Rests on samples: see tests/run.
. "$(dirname "$0")/tap.bash"

bin=$REUSE_BUILDDIR/postproc

# profile OPTION...: one short run; its report's notes in $work/report
profile() {
    run "$bin/reuse-run" -o "$work/p.rprof" "$@" -- "$REUSE_BUILDDIR/microbench/sweep" --seconds 0.2 2>&1
    "$bin/reuse-report" "$work/p.rprof" >"$work/report" 2>&1
}
passed_over() { [ "$(grep -c "engine pmu passed over: .*$1.*; going on with clock" "$work/err")" -eq 1 ]; }
clock_went_on() { err_has 'clock engine, [0-9]+ samples'; }
report_says() { tr -s ' \n' '  ' <"$work/report" | grep -qF -- "$1"; }

unset REUSE_PMU_SYSFS
profile --engine clock
if ! clock_went_on; then
    skip "the engine pmu" "no engine works here: $(head -n 1 "$work/err")"
    finish
    exit 0
fi

mkdir -p "$work/empty"
export REUSE_PMU_SYSFS=$work/empty
profile --engine pmu
check "no PMU: the reason is given once" passed_over 'the kernel shows no '
check "... with the processor that it is about" err_has '\[(AMD|Intel) family [0-9]+ model [0-9]+\]'
check "... clock goes on" clock_went_on
check "... and the report says so" report_says 'engine pmu passed over: the kernel shows no'
profile --engine auto
check "auto: says nothing about it" bash -c "! grep -q 'passed over' '$work/err'"
check "... but the report does" report_says 'engine pmu passed over: the kernel shows no'
profile --engine auto -v
check "auto -v: the reason is given once" passed_over 'the kernel shows no '
profile --engine clock
check "clock: the PMU is not looked at" bash -c "! grep -q 'passed over' '$work/report'"

# Looking for a unit costs next to nothing where there is none.
unset REUSE_PMU_SYSFS
if command -v strace >/dev/null && [ ! -e /sys/bus/event_source/devices/cpu ] &&
    [ ! -e /sys/bus/event_source/devices/ibs_op ]; then
    strace -o "$work/trace" -e trace=%file "$bin/reuse-run" -q --engine auto -o "$work/p.rprof" -- true \
        2>"$work/err"
    check "auto without a PMU: a few files are looked for, no more" \
        [ "$(grep -c 'event_source' "$work/trace")" -le 4 ]
else
    skip "auto without a PMU" "there is one here, or strace is missing"
fi
export REUSE_PMU_SYSFS=$work/empty

# Names that libpfm4 knows become numbers on the way to the target.
event_of() { # PMU NAME
    LIBPFM_FORCE_PMU=$1 "$bin/reuse-run" -q --engine pmu -o "$work/e.rprof" --event "$2" -- \
        sh -c 'echo "$REUSE_EVENT"' 2>"$work/err"
}
check "libpfm4's name of an event" [ "$(event_of skl MEM_LOAD_RETIRED:L3_MISS)" = r20d1 ]
check "... with an attribute" \
    [ "$(event_of spr MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=30)" = cpu/config=0x1cd,config1=0x1e,config2=0x0/ ]
check "... a name that it does not know" [ "$(event_of skl mem-loads)" = mem-loads ]
check "... a number" [ "$(event_of skl r1cd)" = r1cd ]

mkdir -p "$work/liar/ibs_op/format"
echo amd 25 17 >"$work/liar/processor"
echo 1 >"$work/liar/ibs_op/type" # PERF_TYPE_SOFTWARE: the CPU clock
echo 'config2:0' >"$work/liar/ibs_op/format/swfilt"
export REUSE_PMU_SYSFS=$work/liar
profile --engine pmu
check "samples without addresses are refused with numbers" \
    passed_over 'self-test: 0 samples with an address came, of [0-9]* in all'
check "... clock goes on" clock_went_on

# A counter of accesses that counts something else: the same clock, beside.
cp -r "$work/liar" "$work/counter"
mkdir "$work/counter/cpu"
echo 1 >"$work/counter/cpu/type"
export REUSE_PMU_SYSFS=$work/counter
profile --engine pmu
check "a counter that the kernel does not have" passed_over 'LS_DISPATCH.*does not have it'
check "... clock goes on" clock_went_on

export REUSE_PMU_SYSFS=$work/liar
profile --engine pmu --event no-such-event
check "an unknown event is named" passed_over "event 'no-such-event' is not known here"

profile --event no-such-event
check "... also where the engine was not named" passed_over "event 'no-such-event' is not known here"

cp -r "$work/liar" "$work/gone"
echo 4711 >"$work/gone/ibs_op/type"
export REUSE_PMU_SYSFS=$work/gone
profile --engine pmu
check "a PMU that is not there" passed_over 'ibs_op: the PMU does not have it'

# An ordinary user, and a kernel that cannot filter.
rm "$work/gone/ibs_op/format/swfilt"
echo 1 >"$work/gone/ibs_op/type"
chmod -R a+rX "$work"
chmod 777 "$work"
if [ "$(id -u)" -eq 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] &&
    setpriv --reuid=65534 --clear-groups "$bin/reuse-run" --help >"$work/out" 2>&1; then
    run setpriv --reuid=65534 --regid=65534 --clear-groups "$bin/reuse-run" --engine pmu \
        -o "$work/user.rprof" -- "$REUSE_BUILDDIR/microbench/sweep" --seconds 0.2
    check "IBS without a filter, unprivileged: the way out is named" passed_over 'Linux 6.14.*CAP_PERFMON'
else
    skip "IBS without a filter, unprivileged" "needs root and perf_event_paranoid 2"
fi

finish
