#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Profiles of runs that have not ended: read meanwhile, after snapshots, and after SIGKILL.
# Runs beside others.
. "$(dirname "$0")/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
report=$REUSE_BUILDDIR/postproc/reuse-report
target=$REUSE_BUILDDIR/tests/integration/programs/target_live
dump=$REUSE_BUILDDIR/tests/support/profile_dump
cd "$work" || exit 1

# start NAME OPTIONS...: the program under the profiler, at the other end of two pipes.
start() {
    local name=$1
    shift
    rm -f to from
    mkfifo to from
    "$reuse_run" -e clock -o "$name.rprof" "$@" "$target" <to >from 2>"$name.err" &
    pid=$!
    exec 7>to 8<from
}
# tell COMMAND...: leaves its answer.
tell() {
    echo "$@" >&7
    read -r -t 60 answer <&8
}
stop() {
    exec 7>&- 8<&-
    wait "$pid"
    status=$?
}
json() { "$report" --format json "$1" >"$work/out" 2>"$work/err" && python3 -c "
import json, sys
report = json.load(open('$work/out'))
print($2)"; }
# records FILE TYPE: how many.
records() { "$dump" "$1" 2>/dev/null | awk -v type="$2" '$1 == type { n = $2 } END { print n + 0 }'; }
# until_true COMMAND...: it succeeds within a minute.
until_true() {
    local i
    for ((i = 0; i < 600; i++)); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}
said() { grep -q "$1" "$2"; }
at_least() { [ "$(printf '%s' "${1%%.*}")" -ge "$2" ]; }

# A process that has gone idle: its file has everything, before anything else happens to it. The file's
# samples are counted, then the process's own, which a snapshot states.
start idle --snapshot SIGUSR2 -p 2000000
tell burn 150
written=$(json idle.rprof 'report["samples"]')
cpu=$(json idle.rprof 'sum(t["cpu_ns"] for t in report["threads"]) // 10**6')
kill -USR2 "$pid"
until_true said 'snapshot with [0-9]* samples' idle.err
check "idle: every sample is in the file" \
    test "$written" -gt 0 -a "$written" = "$(sed -nE 's/.*snapshot with ([0-9]+) samples.*/\1/p' idle.err)"
kill -9 "$pid"
stop 2>/dev/null
check "... and killed then: CPU time is known" test "$cpu" -ge 20
# A snapshot on a signal, of a process that has gone to sleep.
start signal --snapshot SIGUSR2
tell burn 1500
tell thread 400
samples=$(json signal.rprof 'report["samples"]')
check "a profile is read while the program runs" at_least "$samples" 1
check "... and the report says that it goes on" out_has 'still going on'
kill -USR2 "$pid"
check "SIGUSR2 takes a snapshot, and says so" until_true said 'snapshot with [0-9]* samples' signal.err
check "... it holds the CPU time of both threads" \
    test "$(json signal.rprof 'sum(t["cpu_ns"] > 200e6 for t in report["threads"])')" = 2
check "... and what is mapped" at_least "$(records signal.rprof mapping)" 3
check "... and still goes on" out_has 'still going on'
tell ask
check "the program sees the default" test "$answer" = default
tell burn 100
before=$(stat -c %s signal.rprof)
kill -USR2 "$pid"
check "a second one can be had" until_true eval '[ "$(grep -c "snapshot with" signal.err)" = 2 ]'
after=$(stat -c %s signal.rprof)
check "... which repeats nothing: below 40 kB" test $((after - before)) -lt 40000
tell child 300
kill -USR2 "$answer"
check "a child has its own" until_true test -s signal.2.rprof
kill "$answer"
stop
check "the program ends as without us" status_is 0
json signal.rprof 0 >/dev/null
check "... and the report no longer says that it goes on" eval '! grep -q "going on" "$work/out"'

# The target's own handler is its own.
for how in handle signal number; do
    start own --snapshot SIGUSR2
    tell burn 200
    tell "$how"
    check "$how: a line says that there are no snapshots" \
        said 'no snapshot on SIGUSR2 from here on: the program handles it itself' own.err
    kill -USR2 "$pid"
    answer=0
    until_true eval 'tell count; [ "$answer" = 1 ]'
    check "... its handler gets the signal" test "$answer" = 1
    tell ask
    check "... and is what it finds" test "$answer" = own
    tell default
    tell ask
    check "... until it gives it up" test "$answer" = default
    kill -USR2 "$pid"
    check "... when there are snapshots again" until_true said 'snapshot with' own.err
    stop
    check "... one line for that" test "$(grep -c 'no snapshot' own.err)" = 1
done
start ignored --snapshot SIGUSR2
tell ignore
check "ignored: a line" said 'no snapshot on SIGUSR2 from here on: the program ignores it' ignored.err
kill -USR2 "$pid"
tell ask
check "... and so it is" test "$answer" = ignored
stop
trap '' USR2
start before --snapshot SIGUSR2
tell burn 50
check "ignored before the start: a line" said 'started with it ignored' before.err
stop
trap - USR2

# By time.
start timed --snapshot 1s
for ((i = 0; i < 300; i++)); do
    tell burn 200
    at_least "$(records timed.rprof mapping)" 1 && break
done
check "a snapshot as time passes" test "$i" -lt 300
check "... without a word" test "$(grep -c snapshot timed.err)" = 0

# What SIGKILL leaves.
tell stride 1500
samples=$(json timed.rprof 'report["samples"]')
kill -KILL "$pid"
stop
check "after SIGKILL all that was to be read before is there" at_least "$(json timed.rprof 'report["samples"]')" "$samples"
check "... and the report says why it ends" out_has 'timed.rprof ends early: the run was killed'

# Bad values.
for value in SIGKILL 60 0s 1d SIGUSR1,SIGUSR2 1s,2s '60s,' SIGUSR22; do
    run "$reuse_run" --snapshot "$value" true
    check "--snapshot $value is refused" fails_with 125 'is not SIGUSR1 or SIGUSR2'
done
run "$reuse_run" -e clock --snapshot 1s --record-raw r.tape -o r.rprof "$target"
check "with a recording: a line" err_has 'no snapshots while REUSE_RECORD_RAW'

# --duration.
SECONDS=0
start brief --duration 1
until_true eval 'tell burn 200; [ $SECONDS -ge 3 ]'
bursts=$(records brief.rprof burst)
tell burn 1000
stop
check "--duration: there are samples until then" at_least "$bursts" 1
# What was buffered then, 0.1 s at most, comes later; a second would bring some 40.
check "... and none after that" test "$(records brief.rprof burst)" -lt $((bursts + 15))
check "... and the program ends as without us" status_is 0
finish
