#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Bursts in programs that a look-ahead cannot pass without help, that have many threads, or whose registers are taken.
# Rests on samples: see tests/run.
. "$(dirname "$0")/tap.bash"

targets=$REUSE_BUILDDIR/tests/integration/programs/burst_targets
support=$REUSE_BUILDDIR/tests/support

before=() # what the profiler itself is started with
# profile COMMAND... leaves what became of its bursts in the variables that burst_totals names
profile() {
    local totals
    rm -f "$work/p.rprof"
    run "${before[@]}" "$REUSE_BUILDDIR/postproc/reuse-run" -e clock -o "$work/p.rprof" -- "$@"
    totals=$("$support/burst_totals" "$work/p.rprof") || totals=bursts=0
    echo "$totals" >>"$work/err"
    eval "$totals"
}

# is EXPRESSION, of those variables
is() {
    (($1))
}

for obstacle in calls unknown rewrites; do
    profile "$targets" $obstacle 2000
    if [ $status -eq 77 ]; then
        skip "$obstacle" "not on this machine"
        continue
    fi
    check "$obstacle every 300 accesses: the program does what it does" status_is 0
    check_registers "$obstacle: bursts are gone on with behind them" is 'bursts > 5 && stops > 5 * bursts && bridged * 20 > stops * 19'
    check_registers "$obstacle: so they have all their accesses" is 'early * 10 <= bursts'
    check_registers "$obstacle: and lines to watch" is 'open >= bursts && armed == open'
done

profile "$targets" copies 2000
check "what the kernel copies: the program does what it does" out_has '^1$'
check_registers "... gets no registers" is 'open > 5 && (open - armed) * 4 > open * 3'

profile "$targets" sends 2000
check "the same beside another thread: the program does what it does" out_has '^1$'
# What is not in a message may be watched: one store in ten here. Where messages are watched, eight in ten are.
check_registers "... gets no registers of all threads for them" is 'offered > 5 && followed * 2 < offered'

# Registers that are armed all the time would cost it a fifth of its time: they are, for a window after each burst.
profile "$targets" waits 2000
check "a program that often waits does what it does" out_has '^1$'
check_registers "... and each of its bursts has lines to watch" is 'bursts > 3 && open * 10 >= bursts * 15 && armed == open'

# Six sevenths of its time are the kernel's: at the default budget it has a dozen bursts.
before=(env REUSE_BUDGET=20)
profile "$targets" jumps 2000
before=()
check "system calls that are left by a jump: the program does what it does" out_has '^[01] 1$'
check "bursts that wait there end" is 'bursts > 2 && early > 0'

profile "$REUSE_BUILDDIR/microbench/sweep" --bytes 1M --seconds 4
check_registers "a loop: what is foreseen comes" is 'markers > 10 && foreseen * 10 > markers * 9'
check "bursts stand for the time of the program" is 'weight_ns * 10 > app_ns * 8 && weight_ns * 10 < app_ns * 12'

if [ "$(uname -m)" = x86_64 ]; then
    check "bursts are told to the model of a processor" is 'modelled * 10 > bursts * 9'
    check "... whose clock is known" is 'clocked * 10 > modelled * 9 && clocked <= modelled'
else
    skip "bursts are told to the model of a processor" "it knows x86 only"
fi
check "of hardly any page faults" is 'looked > 2 && faulted * 10 < looked'

profile "$targets" pages 2000
check "memory that is new: page faults take most of the time" is 'looked > 2 && faulted * 10 > looked * 6'
# 512 words a page, of which a burst writes 4096.
words=$(sed -n 's/ words$//p' "$work/out")
check "... bursts see which stores will take one" is 'ahead >= bursts * 7 && ahead <= bursts * 10'
check "... and the kernel counts all of them" is 'faults * 512 < words * 11 / 10 && faults * 512 * 3 > words * 2'
accesses=$("$REUSE_BUILDDIR/postproc/reuse-report" --format json "$work/p.rprof" |
    sed -n '/^ "accesses"/,/value/s/.*"value": *\([0-9]*\).*/\1/p')
check "... so that accesses are counted by them" is 'accesses * 10 > words * 7 && accesses * 10 < words * 15'

profile "$targets" brief 2500
check "threads of 5 ms have bursts" is 'bursts > 10 && early * 2 < bursts'
check "... that stand for their time" is 'weight_ns * 10 > app_ns * 6 && weight_ns * 10 < app_ns * 15'

profile "$targets" many 2000
check "2000 threads" is 'bursts > 10'

# Children use 50 ms each, their parent seconds. Those without a burst leave no profile.
run "$REUSE_BUILDDIR/postproc/reuse-run" -e clock -o "$work/w.%p.rprof" -- "$targets" forks 2500
check "forked children: the program does what it does" out_has '^[0-9]+ children, 50 ms each, [01]$'
children=$(awk '{ print $1 }' "$work/out")
for file in "$work"/w.*.rprof; do
    "$support/burst_totals" "$file"
done | sed 's/.* weight_ns=\([0-9]*\) app_ns=\([0-9]*\) .*/\1 \2/' >"$work/out"
check "... bursts stand for the time of the children" awk -v app="${children:-0}e0" '$2 < 2e8 { weight += $1 }
    END { app *= 50e6; exit app == 0 || weight < .65 * app || weight > 1.5 * app }' "$work/out"

before=("$support/hold_registers" all)
run "${before[@]}" true
if [ $status -eq 0 ]; then
    profile "$targets" calls 1000
    check "somebody else has the registers: bursts end at stops, and nothing is watched" is \
        'bursts > 5 && early == bursts && armed == 0'
else
    skip "somebody else has the registers" "they cannot be taken here"
fi
finish
