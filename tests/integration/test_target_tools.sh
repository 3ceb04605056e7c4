#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Programs that trace others, are traced, or carry a sanitizer: right, or unprofiled with a line that says why.
# Rests on samples: see tests/run. A sample may fall between the fork and the call by which the child is traced.
. "$REUSE_SRCDIR/tests/integration/transparency.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
cd "$work" || exit 1

# refuses NAME TOOL COMMAND...: the program runs, and one line says why there is no profile of it.
refuses() {
    local name=$1 tool=$2
    shift 2
    if ! command -v "$tool" >/dev/null; then
        skip "$name" "$tool is not installed"
        return
    fi
    run timeout -k 1 60 "$reuse_run" -o '%e.%p.rprof' "$@"
    check "$name: the program runs" out_has done
    check "$name: why it is not profiled" err_has '^libreuse: the program runs unprofiled: '
    check "$name: no signal is seen" test "$(cat out err | grep -ciE 'SIGTRAP|signal 5')" = 0
}

refuses "under gdb" gdb gdb -q -batch -ex run "$programs/target_plain"
refuses "under qemu-user" qemu-x86_64 qemu-x86_64 "$programs/target_plain"
run "$reuse_run" -q -o '%e.%p.rprof' qemu-x86_64 "$programs/target_plain"
check "under qemu-user, quietly" err_is_empty
refuses "under valgrind" valgrind valgrind -q "$programs/target_plain"
target "under strace" --at-least 1 -- strace -f -o /dev/null "$programs/target_plain"
target "a program that traces another" --profiles 0 -- "$programs/target_tracer" "$programs/target_plain"

# An allocator before us, which leaves some functions to the C library: their blocks are its own.
allocator=$(/sbin/ldconfig -p | awk '/libjemalloc\.so\.2/ { print $NF; exit }')
seq 50000 | tac >numbers
if [ -n "$allocator" ]; then
    run env LD_PRELOAD="$allocator:$library" REUSE_QUIET=1 sort numbers
    check "an allocator before us" cmp out <(sort numbers)
else
    skip "an allocator before us" "libjemalloc2 is not installed"
fi

# sanitized NAME FLAGS STATUS: gcc's, which wants to be the first library and looks for leaks.
cat >leak.c <<'C'
#include <stdlib.h>
static volatile int block[65536];
static void *volatile kept;
int main(int count, char **arguments)
{
    (void)arguments;
    for (int round = 0; round < 20000; round++)
        for (int i = 0; i < 65536; i += 16)
            block[i] = round;
    kept = malloc(100);
    if (count > 1)
        kept = NULL;
    return 0;
}
C
is_profile() { "$report" --summary "$1" >/dev/null; }
sanitized() {
    if ! gcc -g -fsanitize="$1" -o leak leak.c 2>/dev/null || ! ./leak >/dev/null 2>&1; then
        skip "gcc -fsanitize=$1" "does not work here"
        return
    fi
    run timeout -k 1 60 "$reuse_run" -q -o p.rprof ./leak
    check "gcc -fsanitize=$1: nothing found where there is nothing" test "$status$(cat err)" = 0
    check "gcc -fsanitize=$1: profiled" is_profile p.rprof
    run timeout -k 1 60 "$reuse_run" -q -o p.rprof ./leak leak
    check "gcc -fsanitize=$1: what there is is found, and nothing else" \
        test "$(grep -c 'leak of' err)" = "$2"
}
sanitized address 1
sanitized leak 1
sanitized thread 0
sanitized undefined 0
finish
