#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Rests on samples.
# Debug registers that can be armed and never trap, as in some virtual machines: the run, the report and
# its verdicts say what was not seen, and nothing is taken for absent that nobody could look for. What
# a machine of that kind measures at start-up is handed down to the program, so that this runs on any.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
reuse_report=$REUSE_BUILDDIR/postproc/reuse-report
hold=$REUSE_BUILDDIR/tests/support/hold_registers
export LC_ALL=C
cd "$work" || exit 1
cat >counter.c <<'SOURCE'
#include <pthread.h>
#include <stdlib.h>
static long counter;
static void *count(void *turns)
{
    for (long i = 0; i < (long)turns; i++)
        __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t threads[2];
    long turns = argc > 1 ? atol(argv[1]) : 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count, (void *)turns);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return counter == 2 * turns ? 0 : 1;
}
SOURCE
${CC:-cc} -O1 -g -o counter counter.c -lpthread || exit 1
sweep=$REUSE_BUILDDIR/microbench/sweep
silent="4:17000:0:1:0:$(getconf _NPROCESSORS_ONLN):4:2:$(uname -n)"
says='never trap .a virtual machine.*: reuses beyond the look-ahead .4096 accesses, at times 524288. are not observed, and sharing between'
field() { python3 -c 'import json, sys
r = json.load(open("json"))
print(eval(sys.argv[1]))' "$1"; }
profile() { # COMMAND...
    rm -f ./*.rprof
    run "$reuse_run" -p 5000000 -o p.rprof "$@"
    "$reuse_report" --format json p.rprof >json
}
is() { [ "$(field "$1")" = "$2" ]; }

export REUSE_MACHINE=$silent
profile ./counter 40000000
check "two threads: the program does what it does" status_is 0
check "two threads: the run says it once" [ "$(grep -cE "$says" err)" -eq 1 ]
check "two threads: so does the report, in its notes" is \
    "sum('never trap' in note and 'count with reuse-run -e exact' in note for note in r['notes'])" 1
check "two threads: sharing is said to be modelled" is \
    "(r['observed']['sharing'], r['observed']['sharing_modelled'])" "(True, True)"
check "two threads: memory is not said not to be the problem" is \
    "'memory is not the problem' in str(r['conclusion'])" False
run "$reuse_report" p.rprof
check "two threads: the first screen says that sharing is modelled, and what counts it" sh -c \
    "head -n 24 out | tr '\n' ' ' | grep -q 'Sharing between threads is modelled.*never *trapped.*-e exact'"

profile "$sweep" --bytes 64M --seconds 1
# With caches that do not hold 64 MiB, whatever this machine has: with others all may be known.
"$reuse_report" --machine skylake-sp --format json p.rprof >json
check "64 MiB in turn: whether anything is to be gained is not known" is \
    "'not known' in r['conclusion'] and 'reuses after a burst were not observed' in r['conclusion']" True
check "64 MiB in turn: one thread shares nothing" is "r['observed']" \
    "{'sharing': True, 'sharing_modelled': False, 'long_uses': False}"
# So few bursts that no line has a hint.
run "$reuse_run" -p 60000000 -o few.rprof "$sweep" --bytes 64M --seconds 1
run "$reuse_report" --machine skylake-sp --blocking few.rprof
check "64 MiB in turn: --blocking says that it is not known, either" out_has '^Whether anything can be gained is not known'

profile "$sweep" --bytes 8K --seconds 1
# With or without "Probably": that is for the interval to say.
check "8 KiB in turn: what was seen suffices to say that there is nothing to gain" is \
    "'othing to gain: memory is not the problem' in r['conclusion']" True

run "$reuse_run" -o %e.%p.rprof sh -c './counter 20000000; ./counter 20000001; exit 0'
check "programs that are started: said once" [ "$(grep -cE "$says" err)" -eq 1 ]
unset REUSE_MACHINE

profile --registers 0 ./counter 40000000
check "registers that are left alone: nothing is said" [ "$(grep -c register err)" -eq 0 ]
check "registers that are left alone: the report notes what is not seen" is \
    "any('no debug register is to be used' in note for note in r['notes'])" True
check "registers that are left alone: sharing is modelled" is "r['observed']['sharing_modelled']" True

run "$hold" all true
if [ "$status" -eq 0 ]; then
    rm -f ./*.rprof
    run "$hold" all "$reuse_run" -p 5000000 -o p.rprof ./counter 40000000
    check "registers that are taken: no virtual machine is blamed" sh -c \
        "grep -q 'no debug register is free (a debugger?)' err && ! grep -q 'virtual machine' err"
else
    skip "registers that are taken" "they cannot be taken here"
fi

# Where they trap, nothing of this is said.
run "$REUSE_BUILDDIR/postproc/reuse-doctor" --format json
if python3 -c 'import json, sys
found = {f["id"]: f["state"] for f in json.load(open("out"))["findings"]}
sys.exit(found["trap"] != "works" or found["inherited"] != "works")'; then
    profile ./counter 40000000
    check "registers that trap: nothing is said of them" [ "$(grep -c register err)" -eq 0 ]
    check "registers that trap: sharing is observed" is "r['observed']['sharing']" True
else
    skip "registers that trap" "they do not here"
fi
finish
