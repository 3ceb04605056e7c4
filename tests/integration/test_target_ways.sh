#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Rests on samples: see tests/run. Beside others a program of a tenth of a second may have none.
# Programs that do by another way what is usually done by the one that is watched: they come out as without
# us, and their profile says what they did.
. "$REUSE_SRCDIR/tests/integration/transparency.bash"
ways=$programs/target_ways
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
cd "$work" || exit 1 # profiles without a name of their own go there

# field NAME: of the report on the last profile, in $work/p.json
field() {
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(len(d["threads"]) if sys.argv[2] == "threads" else "\n".join(d["notes"]))' \
        "$work/p.json" "$1"
}

# recorded COMMAND...: leaves its report
recorded() {
    rm -f "$work/p.rprof"
    run "$reuse_run" -q -o "$work/p.rprof" "$@"
    "$report" --format json --summary --threads "$work/p.rprof" >"$work/p.json"
}

target "C11 threads" -- "$ways" c11
recorded "$ways" c11
check "... are profiled" test "$(field threads)" = 2
target "threads whose attributes block every signal" -- "$ways" masked
recorded "$ways" masked
check "... are profiled" test "$(field threads)" = 2
early() { LD_PRELOAD=$programs/.libs/early_thread.so recorded "$programs/target_plain"; }
early
check "threads of a library's constructor are profiled" test "$(field threads)" = 2
cat >"$work/first.c" <<'SOURCE'
#include <pthread.h>
#include <stdio.h>
static pthread_t thread;
static volatile long sum;
static void *count(void *unused)
{
    for (long i = 0; i < 100000000; i++)
        sum += i;
    return unused;
}
static void begin(void)
{
    pthread_create(&thread, NULL, count, NULL);
}
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = begin;
int main(void)
{
    pthread_join(thread, NULL);
    puts("done");
    return 3;
}
SOURCE
"${CC:-cc}" -O1 -pthread "$work/first.c" -o "$work/first" || exit 1
target "a thread before the C library begins" -- "$work/first"
recorded "$work/first"
check "... is profiled, by what the environment says" test "$(field threads)" = 2
recorded "$ways" timer
check "threads of the C library's own are named as left out" \
    grep -q 'ms of CPU time were used by threads that are not in the profile' <(field notes)
recorded "$ways" c11
check "... and nothing else is" test "$(field notes | grep -c 'not in the profile')" = 0

target "a question whether there are seccomp filters" -- "$ways" probe
recorded "$ways" probe
check "... does not end the profile" test "$(field notes | grep -c seccomp)" = 0
target "a seccomp filter by number" --messages 1 -- "$ways" seccomp-call
target "a seccomp filter by prctl's number" --messages 1 -- "$ways" prctl-call

# ended COMMAND...: its profile has its end
ended() {
    recorded "$@"
    check "... has its end in the profile" test "$(field notes | grep -c 'ends early')" = 0
}
for end in quick-exit exit-group execveat exec-call; do
    target "end by $end" --at-least 1 -- "$ways" $end
    ended "$ways" $end
done

target "accesses that are not aligned fault" -- "$ways" aligned

target "descriptors closed by number" -- "$ways" close-call
ended "$ways" close-call
export REUSE_REGISTERS=0
target "debug registers of the program's own" -- "$ways" breakpoints
unset REUSE_REGISTERS
run "$reuse_run" -q -o "$work/p.rprof" grep -c ' .wx' /proc/self/maps
check "no memory is writable and executable" test "$(cat "$work/out")" = 0

target "SIGTRAP by System V's functions" -- "$ways" sigset
target "SIGTRAP by rt_sigaction(2)" -- "$ways" sigaction-call

target "where the heap begins" -- "$ways" heap
target "an environment that is changed and cleared" -- "$ways" environment

# Whether programs that are started have us, and others that are preloaded.
other=$programs/.libs/loaded_library.so
seen() { LD_PRELOAD=$other run "$reuse_run" -q --follow="$1" sh -c "$2"; }
seen none 'env | grep ^LD_PRELOAD='
check "--follow=none: a program that is started" test "$(cat "$work/out")" = "LD_PRELOAD=$other"
run "$reuse_run" -q --follow=none perl -e 'system("env | grep ^LD_PRELOAD=; true"); print `env | grep ^LD_PRELOAD=`'
check "--follow=none: system() and popen()" test ! -s "$work/out"
seen exec 'env | grep ^LD_PRELOAD='
check "--follow=exec: a program that is started" out_has "libreuse\.so.*$other"
finish
