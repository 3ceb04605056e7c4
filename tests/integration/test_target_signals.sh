#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Rests on samples: see tests/run.
# Programs that use signals, or die by them, profiled and not. A burst each 4 ms, for they last a tenth of a
# second: where bursts cost a millisecond, beside other tests, a budget of 4 % allows them few or none.
export REUSE_PERIOD=4000000
. "$REUSE_SRCDIR/tests/integration/transparency.bash"
signals=$programs/target_signals

target "own SIGTRAP handler" -- "$signals" sigtrap
target "own real-time handlers" -- "$signals" realtime
target "breakpoint instructions of the program's own" -- "$signals" breakpoint
target "SIGTRAP blocked by the program" -- "$signals" blocked-trap
target "a breakpoint while SIGTRAP is blocked" -- "$signals" blocked-breakpoint
target "SIGTRAP taken by sigwaitinfo" -- "$signals" wait
target "SIGTRAP read from a descriptor" -- "$signals" descriptor
target "SIGTRAP read from a descriptor that is made later" -- "$signals" descriptor-later
REUSE_OUTPUT=$work/p.rprof LD_PRELOAD=$library run "$signals" descriptor
check "... a line says that profiling ends" \
    test "$(grep -c '^libreuse: .* reads from a signalfd: profiling ends here' "$work/err")" = 1
target "SIGTRAP taken by a thread that waits" -- "$signals" wait-elsewhere
target "SIGTRAP handled by the thread that does not block it" -- "$signals" unblocked-elsewhere
target "... and the next one comes while it still does" -- "$signals" unblocked-elsewhere-often
target "SIGTRAP ignored and blocked, also by the next program" --profiles 2 -- "$signals" next-program
REUSE_FOLLOW=none target "the same, the next program not followed" -- "$signals" next-program
target "handlers that block SIGTRAP and are left by _longjmp" -- "$signals" jump-blocked
target "killed by SIGTRAP" -- "$signals" default-trap
target "SIGTRAP ignored" -- "$signals" ignored-trap
target "alarm and interval timers" -- "$signals" timer
target "own alternate stack" -- "$signals" alternate
target "longjmp, also out of handlers" -- "$signals" longjmp
target "abort" -- "$signals" abort
target "SIGSEGV" -- "$signals" segv
target "stack overflows on an alternate stack" -- "$signals" overflow
target "pages that faults open" -- "$signals" barrier
target "faults of the look-ahead in a thread that blocks every signal" -- "$signals" blocked-faults
target "SIGSEGV ignored, also by the next program" --at-least 1 -- "$signals" ignored-fault
target "SIGSEGV handled behind the C library's back" -- "$signals" system-call
target "SIGKILL from outside" --signal 9 --after 800 -- "$signals" hang
target "SIGTERM from outside" --signal 15 --after 800 -- "$signals" hang
target "SIGINT from outside" --signal 2 --after 800 -- "$signals" hang
finish
