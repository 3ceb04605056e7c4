#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Heap objects of the exact engine: named as the clock engine names them, with every access counted
# (tests/support/exact_objects.cc).
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
run_exact="$REUSE_BUILDDIR/postproc/reuse-run --engine exact"
report=$REUSE_BUILDDIR/postproc/reuse-report
program=$REUSE_BUILDDIR/tests/support/exact_objects

needs_qemu "objects of the exact engine"
cd "$work" || exit 1

# objects PROFILE: name, kind, size, function, accesses; one object a line.
objects() {
    "$report" --format json --objects --top 10000 "$1" | python3 -c '
import json, sys
for o in json.load(sys.stdin)["objects"]:
    print(o["name"], o["kind"], o["size"], o["alloc"]["function"], o["accesses"], sep="|")'
}
run $run_exact -o objects.rprof "$program"
check "the program runs" out_has '^done$'
objects objects.rprof >out 2>err
check "malloc" out_has '^from_malloc\|heap\|800\|main\|10000$'
check "operator new" out_has '^from_new\|heap\|40000\|main\|20000$'
check "in a thread" out_has '^from_thread\|heap\|8000\|in_thread\|30000$'
check "before realloc" out_has '^grown\|heap\|64\|main\|10000$'
check "after realloc" out_has '^regrown\|heap\|1048576\|main\|40000$'
check "mmap, and what is left of a mapping" out_has '^area\|mapping\|65536\|main\|60000$'
check "a part named through the API; nothing while paused" out_has '^first thousand\|named\|8000\|.*\|60000$'

cat >fork.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    volatile char *before = malloc(5000);
    if (fork() == 0) {
        for (int i = 0; i < 50000; i++)
            before[i % 5000] = 1;
        volatile char *after = malloc(300);
        for (int i = 0; i < 3000; i++)
            after[i % 300] = 1;
        _exit(0);
    }
    return wait(NULL) < 0;
}
END
gcc -g -O1 -o fork fork.c
run $run_exact -q -o 'fork.%p.rprof' ./fork
for profile in fork.*.rprof; do objects $profile; done >out
check "a forked child knows its parent's blocks" out_has '^before\|heap\|5000\|main\|50000$'
check "and its own" out_has '^after\|heap\|300\|main\|3000$'

# Our library's atomic accesses are its own: a stub loads the slot that it jumps through and no more.
cat >frees.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static void *churn(void *unused)
{
    for (int i = 0; i < 3000; i++) {
        volatile char *block = malloc(100 + i % 7 * 3000);
        block[0] = 1;
        free((void *)block);
    }
    return unused;
}
int main(void)
{
    pthread_t other;
    pthread_create(&other, NULL, churn, NULL);
    churn(NULL);
    return pthread_join(other, NULL);
}
END
gcc -g -O1 -fplt -pthread -o frees frees.c
run $run_exact -q -o frees.rprof ./frees
"$report" --format json --lines --top 100000 frees.rprof | python3 -c '
import json, sys
print(sum(l["accesses"] for l in json.load(sys.stdin)["lines"] if l["function"] == "free@plt"))' >out 2>err
check "what the profiler does in threads is not counted" out_has '^6000$'
"$report" --format json --objects --sharing --top 10000 frees.rprof >out 2>err
check "nor listed" eval '! grep -qE "allocation_filter|libreuse" out'

run $run_exact -q -o '%e.rprof' /usr/bin/env -i "$program"
check "exec with an empty environment" out_has '^done$'
objects exact_objects.rprof >out
check "keeps the names" out_has '^from_new\|heap\|40000\|main\|20000$'
run env LD_PRELOAD=/nonexistent.so $run_exact -q -o preload.rprof /usr/bin/printenv LD_PRELOAD
check "the user's LD_PRELOAD comes after ours" out_has 'libreuse-guest.so:/nonexistent.so$'

gcc -static -O1 -o static fork.c 2>/dev/null
run $run_exact -o 'static.%p.rprof' ./static
check "a static program: no names, said once" test "$(grep -c 'is statically linked: its heap blocks have no names' err)" = 1
run env LD_PRELOAD="$REUSE_BUILDDIR/runtime/.libs/libreuse-guest.so" REUSE_DOORBELL=1 strace -f -o calls /bin/true
if [ "$status" = 0 ]; then
    check "outside of QEMU the library sends nothing" test "$(grep -c 52455553 calls)" = 0
else
    skip "outside of QEMU the library sends nothing" "strace is not installed"
fi
finish
