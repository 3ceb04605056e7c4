#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Rests on samples: see tests/run. Beside others a program of a tenth of a second may have none.
# Processes that a profiled one starts: without a sample they leave nothing, with samples they have a
# profile like any other, and the first process says one line for all of them. What was handed down to
# them may be nonsense.
. "$REUSE_SRCDIR/tests/integration/transparency.bash"

run=$work/run
mkdir "$run"
cd "$run" || exit 1

# No clock expires: no process has a sample.
REUSE_PERIOD=1000000000000 LD_PRELOAD=$library sh -c \
    'i=0; while [ $i -lt 30 ]; do /bin/true; (exit 3); i=$((i + 1)); done' 2>err
check "30 programs and 30 forks without a sample: one line in all" test "$(told err | grep -c .)" -eq 1
check "... that counts them" \
    grep -qE '^libreuse: clock engine, no sample of 61 processes in 1 profile .too short: .* % of CPU time taken' err
check "... and one file, of the first process" test "$(find . -name '*.rprof' | wc -l)" -eq 1
run "$report" ./*.rprof
check "whose report says what to do" out_has 'Too short for a sample'
check "... and is one" status_is 0
rm -f ./*.rprof

# The kernel's clocks go on when a program is replaced: its time is no part of the next one's.
cat >chain.c <<'SOURCE'
#include <time.h>
#include <unistd.h>
int main(int count, char **arguments)
{
    static volatile int words[1 << 14];
    struct timespec before, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    do {
        for (int i = 0; i < 1 << 14; i++)
            words[i] += i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while ((now.tv_sec - before.tv_sec) * 1e9 + (now.tv_nsec - before.tv_nsec) < 2e8);
    if (count > 1)
        execv(arguments[0], arguments + 1);
    return 0;
}
SOURCE
${CC:-cc} -O1 -o chain chain.c
LD_PRELOAD=$library REUSE_QUIET=1 REUSE_OUTPUT=%e.%p.rprof ./chain ./chain ./chain ./chain
check "four programs of one process: a profile each" test "$(find . -name 'chain.*.rprof' | wc -l)" -eq 4
for profile in chain.*.rprof; do
    "$report" --format json "$profile" 2>/dev/null |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["overhead"]["cpu_ns"])'
done >times
check "... with the CPU time of that program" \
    awk '$1 < 1e8 || $1 > 3.5e8 { bad = 1; print } END { exit bad || NR != 4 }' times
rm -f ./*.rprof
# As long as a name can be.
long=$(printf 'l%.0s' $(seq 250))
mv chain "$long"
LD_PRELOAD=$library REUSE_QUIET=1 REUSE_OUTPUT=reuse.%e.%p.rprof "./$long"
check "a program with a long name: its profile has as much of it as there is room for" \
    test "$(find . -name "reuse.${long:0:200}*.rprof" -size +0 | wc -l)" -eq 1
rm -f ./*.rprof "./$long"

# Killed, replaced, left running: the others are counted all the same.
REUSE_PERIOD=1000000000000 LD_PRELOAD=$library sh -c \
    'sh -c "kill -9 \$\$" 2>killed; (exit 0); exec sh -c "(exit 0); exit 0"' 2>err
check "a process is killed: one line, of which it has not ended" \
    grep -qE 'of [0-9]+ processes in 1 profile, 1 of them has not ended' err
check "... and no other" test "$(told err | grep -c .)" -eq 1
rm -f ./*.rprof
LD_PRELOAD=$library REUSE_TREE=1:2:3:4:0 REUSE_QUIET=1 sh -c 'exit 3' >out 2>err
check "a run that has ended is nobody's" test $? -eq 3 -a ! -s err
LD_PRELOAD=$library REUSE_TREE=nonsense sh -c 'exit 3' 2>err
check "nonsense for a run: one is begun" test "$(told err | grep -c .)" -eq 1
rm -f ./*.rprof
LD_PRELOAD=$library REUSE_OUTPUT=nowhere/%p.rprof REUSE_PERIOD=1000000 sh -c \
    'for i in 1 2 3; do (i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done); done; exit 3' 2>err
check "a folder that is not there: one line for all, and the program runs" test $? -eq 3 -a \
    "$(told err | grep -c .)" -eq 1
for budget in 0 100; do
    LD_PRELOAD=$library REUSE_BUDGET=$budget sh -c '(exit 0); /bin/true; (exit 3)' 2>err
    check "a budget of $budget %: it is refused once" \
        test $? -eq 3 -a "$(grep -c 'the default is used' err)" -eq 1
done
rm -f ./*.rprof

# A process may end while its first burst waits to go on: its file begins then, with its thread.
LD_PRELOAD=$library REUSE_QUIET=1 REUSE_PERIOD=150000 REUSE_OUTPUT=short.%p.rprof sh -c \
    'i=0; while [ $i -lt 100 ]; do (exit 0); i=$((i + 1)); done'
without=0
for profile in short.*.rprof; do
    "$report" --format json "$profile" | python3 -c '
import json, sys
report = json.load(sys.stdin)
sys.exit(report["samples"] > 0 and not report["threads"])' || without=$((without + 1))
done
check "bursts of a process that has ended: none without its thread" test $without -eq 0
rm -f ./*.rprof

# Another PID namespace has the same numbers: nothing of one run destroys what is of another.
if unshare --fork --pid --mount-proc true 2>/dev/null; then
    for i in 1 2 3; do
        LD_PRELOAD='' unshare --fork --pid --mount-proc env LD_PRELOAD="$library" REUSE_QUIET=1 \
            REUSE_OUTPUT=%p.rprof sh -c 'exit 0'
    done
    check "the same number in three namespaces: three profiles" \
        test "$(find . -name '*.rprof' | wc -l)" -eq 3
    rm -f ./*.rprof
else
    skip "PID namespaces" "they cannot be made here"
fi

as_before() { cmp -s out out2 && [ -z "$(told err)" ] && [ -s perl.rprof ]; }
burn='my $x = 0; my @a = (1 .. 5000); for (1 .. 400) { $x += $_ for @a } print "$x\n"'
if command -v perl >/dev/null; then
    LD_PRELOAD=$library REUSE_QUIET=1 REUSE_PERIOD=200000 REUSE_OUTPUT=%e.rprof \
        sh -c "perl -e '$burn'; exit 0" >out 2>err
    check "a program that was started has a profile" test -s perl.rprof
    check "which names its code" sh -c "'$report' --lines perl.rprof >lines 2>&1 && grep -q perl lines"
    for nonsense in "" 1:2:3 1:17000:5000:0:elsewhere x 1:0:0:1: "$(printf 'a%.0s' $(seq 3000))"; do
        rm -f perl.rprof
        LD_PRELOAD=$library REUSE_QUIET=1 REUSE_MACHINE=$nonsense REUSE_PERIOD=200000 \
            REUSE_OUTPUT=%e.rprof perl -e "$burn" >out2 2>err
        check "handed down: '${nonsense:0:30}'" as_before
    done
    # Some half of them use up a clock's first period: each draws its own, or it would be all or none.
    # They ask for the time seldom: a clock that ends while the kernel answers gives no sample.
    rm -f ./*.rprof
    LD_PRELOAD=$library REUSE_QUIET=1 REUSE_PERIOD=16000000 REUSE_OUTPUT=%e.%p.rprof perl -MTime::HiRes=clock -e \
        'for (1 .. 60) { next if fork; my $end = clock() + 0.008;
            while (clock() < $end) { $x += $_ for 1 .. 2000 } exit }
        1 while wait > 0' 2>err
    sampled=$(($(find . -name 'perl.*.rprof' | wc -l) - 1))
    check "60 forks at once: each makes its own random choices ($sampled have a sample)" \
        test $sampled -ge 6 -a $sampled -le 54
    # A process that is killed has had its samples.
    rm -f ./*.rprof
    LD_PRELOAD=$library REUSE_PERIOD=2000000 REUSE_OUTPUT=%e.%p.rprof perl -MTime::HiRes=sleep -e \
        'my ($n, $pid) = (0, fork); if (!$pid) { 1 while 1 }
        sleep 0.1 until -e "perl.$pid.rprof" or $n++ > 600; kill 9, $pid; wait' 2>err
    check "samples of a process that is killed are counted" \
        grep -qE '^libreuse: clock engine, [1-9][0-9]* samples of 2 processes in 2 profiles, 1 of them has not' err
    # No profile can be written to its end: said once, and counted.
    rm -f ./*.rprof
    (
        ulimit -f 20 # more than a profile begins with, less than it ends with
        LD_PRELOAD=$library REUSE_PERIOD=2000000 REUSE_OUTPUT=%e.%p.rprof perl -MTime::HiRes=clock -e \
            'for (1 .. 20) { next if fork; my $end = clock() + 0.05; 1 while clock() < $end; exit }
            1 while wait > 0' 2>err
    )
    check "limited files: said once" test "$(grep -c 'cannot write to' err)" -eq 1 -a "$(told err | grep -c .)" -le 2
    check "... and those that it concerns are counted" \
        grep -qE ', [1-9][0-9]* processes could not write theirs, or not to its end, ' err
    # Workers of a server that run as another user, while standard error is its log. Their first samples are
    # hardly before that: a fork can take a millisecond and more of their time.
    rm -f ./*.rprof
    if [ "$(id -u)" -eq 0 ]; then
        mkdir -p private && chmod 755 private
        LD_PRELOAD=$library REUSE_PERIOD=100000000 REUSE_OUTPUT=$PWD/private/%e.%p.rprof perl -MTime::HiRes=clock -MPOSIX=setuid -e \
            'open STDERR, ">", "log"; for (1, 2) { next if fork; setuid(65534); my $end = clock() + 0.8;
                1 while clock() < $end; exit } 1 while wait > 0' 2>err
        check "workers that may not write profiles: the first one's says so" \
            sh -c "'$report' private/*.rprof | tr -s '\n ' ' ' | grep -q '2 processes of this run could not write a profile'"
        rm -rf private
    else
        skip "workers that may not write profiles" "only root can become another user"
    fi
    # Several processes of one run, told together or merged before: the same.
    rm -f ./*.rprof
    LD_PRELOAD=$library REUSE_QUIET=1 REUSE_PERIOD=200000 REUSE_OUTPUT=%e.%p.rprof \
        sh -c "perl -e '$burn' & perl -e '$burn'; (exit 0); wait" >out 2>err
    check "each process has a profile" test "$(find . -name 'perl.*.rprof' | wc -l)" -eq 2
    # A fork of the shell may have had a sample, before it became perl even: it has a profile then.
    profiles=$(find . -name '*.rprof' | wc -l)
    pids=$(find . -name '*.rprof' | sed -E 's/.*\.([0-9]+)\.rprof/\1/' | sort -u | wc -l)
    "$report" --merge -o merged.rp ./*.rprof
    for format in text json; do
        # Remarks name the file.
        TMPDIR=$work "$report" --format $format ./*.rprof | sed -E 's/[^ "]+\.rp(rof)?//' >direct.$format
        "$report" --format $format merged.rp | sed -E 's/[^ "]+\.rp(rof)?//' >merged.$format
        check "reported together or merged: the same ($format)" \
            sh -c "test -s direct.$format && cmp direct.$format merged.$format"
    done
    check "... and each process is in it" python3 - "$profiles" "$pids" <<'END'
import json
import sys
report = json.load(open("direct.json"))
pids = {thread["pid"] for thread in report["threads"]}
assert [str(report["processes"]), str(len(pids))] == sys.argv[1:], (report["processes"], pids)
END
    check "nothing is left behind" test -z "$(find "$work" -name 'reuse-report.*')"
else
    skip "programs that are started" "perl is not installed"
fi
finish
