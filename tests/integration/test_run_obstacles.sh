#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-run with the real library where something stands in the way: the program's output and status stay
# what they are without it, and one line says what is missing.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
deny=$REUSE_BUILDDIR/tests/support/deny_perf
hold=$REUSE_BUILDDIR/tests/support/hold_registers
if [ ! -e "$REUSE_BUILDDIR/runtime/.libs/libreuse.so" ]; then
    skip "obstacles" "libreuse.so is not built"
    finish
    exit
fi
cd "$work" || exit 1

# Some 0.2 s of CPU time over a megabyte, a line of output, an unusual status.
cat >sweep.c <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(void)
{
    enum { WORDS = 1 << 17 };
    double *array = calloc(WORDS, sizeof *array), sum = 0;
    while (clock() < CLOCKS_PER_SEC / 5)
        for (int i = 0; i < WORDS; i++)
            array[i] += i;
    for (int i = 0; i < WORDS; i++)
        sum += array[i] >= 0;
    printf("%g\n", sum);
    free(array);
    return 42;
}
SOURCE
${CC:-cc} -O1 -g -o sweep sweep.c
unchanged() { status_is 42 && out_has '^131072$'; }
profiles() { find . -name '*.rprof' -size +0 | wc -l; }
start() {
    rm -f -- *.rprof
    run "$@"
}

start "$reuse_run" ./sweep
check "without obstacle: unchanged" unchanged
if err_has 'unprofiled'; then
    usable=false
else
    usable=true
    check "without obstacle: one profile" [ "$(profiles)" -eq 1 ]
    check "without obstacle: one closing line" err_is_one_line
fi

# A version that does not tell whether a blocked SIGTRAP waits: it is tried, and here it does.
if $usable && command -v setarch >/dev/null && setarch --uname-2.6 true 2>/dev/null; then
    start setarch --uname-2.6 "$reuse_run" ./sweep
    check "a kernel of an old version: unchanged" unchanged
    check "a kernel of an old version: what it does decides" [ "$(profiles)" -eq 1 ]
    for way in blocking trying; do
        start setarch --uname-2.6 "$deny" $way "$reuse_run" ./sweep
        [ "$status" -ne 99 ] || continue
        [ $way = blocking ] && why='this kernel kills' || why='cannot be tried'
        check "a kernel of an old version, $way: unchanged" unchanged
        check "a kernel of an old version, $way: one line" err_is_one_line
        check "a kernel of an old version, $way: why the program is unprofiled" \
            err_has "runs unprofiled: .*$why.*Linux 5.18.*: use a newer kernel, or reuse-run -e exact"
        check "a kernel of an old version, $way: which one it is" err_has "this is Linux 2\.6\."
    done
    start setarch --uname-2.6 "$deny" E2BIG "$reuse_run" ./sweep
    if [ "$status" -ne 99 ]; then
        check "a kernel without sigtrap: unchanged" unchanged
        check "a kernel without sigtrap: one line says what is possible" err_is_one_line
        check "a kernel without sigtrap: which versions have it" \
            err_has 'unprofiled: .*E2BIG.*SIGTRAP from Linux 5.13 on .RHEL 9 has it, RHEL 8 not.'
        check "a kernel without sigtrap: which one it is" err_has 'this is Linux 2\.6\.'
    fi
fi

run "$deny" EPERM true
if [ "$status" -eq 99 ]; then
    skip "seccomp" "filters cannot be installed here"
else
    for answer in EPERM ENOSYS EACCES; do
        start "$deny" "$answer" "$reuse_run" ./sweep
        check "seccomp answers $answer: unchanged" unchanged
        check "seccomp answers $answer: one line names it" err_is_one_line
        check "seccomp answers $answer: the program is said to be unprofiled" err_has "unprofiled.*$answer"
    done
    check "seccomp answers EACCES: who may have refused is told" err_has 'seccomp|perf_event_paranoid'
    start "$deny" ENOSYS "$reuse_run" ./sweep
    check "seccomp answers ENOSYS: so is what may be behind it" err_has 'seccomp filter answers so.*built without'
    start "$deny" kill "$reuse_run" ./sweep
    check "seccomp kills: unchanged" unchanged
    check "seccomp kills: one line" err_is_one_line
    check "seccomp kills: said" err_has 'kills what calls perf_event_open: ./sweep runs unprofiled'
    # A filter that a profiled program's parent has left, which the launcher has not seen.
    start "$deny" kill sh -c "ulimit -c unlimited; LD_PRELOAD=$REUSE_BUILDDIR/runtime/.libs/libreuse.so ./sweep"
    check "an inherited filter kills: unchanged" unchanged
    check "an inherited filter kills: one line" err_is_one_line
    check "an inherited filter kills: said" err_has 'runs unprofiled: .*seccomp.*kills what calls perf_event_open'
    check "an inherited filter kills: no core file" test -z "$(find . -name 'core*')"
    start "$deny" kill env LD_PRELOAD="$REUSE_BUILDDIR/runtime/.libs/libreuse.so" sh -c './sweep >&2; ./sweep'
    check "an inherited filter kills: the programs that the first one starts run" unchanged
    check "an inherited filter kills: ... and say nothing" eval 'test "$(grep -c unprofiled "$work/err")" = 1'
    # A filter that kills nothing is tried once: who is started later is told how many there are.
    run "$deny" allow env LD_PRELOAD="$REUSE_BUILDDIR/runtime/.libs/libreuse.so" \
        sh -c "sh -c 'echo \${REUSE_TREE##*:}; sed -n \"s/Seccomp_filters:[^0-9]*//p\" /proc/self/status; ./sweep >&2'"
    check "harmless filters: their number is handed on" \
        test -n "$(sed -n 1p "$work/out")" -a "$(sed -n 1p "$work/out")" = "$(sed -n 2p "$work/out")"
fi

if $usable && "$hold" all true; then
    start "$hold" all "$reuse_run" ./sweep
    check "all debug registers taken: unchanged" unchanged
    check "all debug registers taken: said" err_has 'no debug register is free'
    check "all debug registers taken: profiled all the same" [ "$(profiles)" -eq 1 ]
else
    skip "all debug registers taken" "performance events or debug registers are not usable here"
fi

# A program may use all the address space that it has been given, but for the 15 MB of the library itself; with a
# tenth to spare there is room for both.
cat >eat.c <<'SOURCE'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) * 1000000 : 0;
    char *memory = malloc(bytes);
    if (!memory)
        return 9;
    memset(memory, 1, 1000000);
    puts("eaten");
    return system("true") == 0 && memory[999999] == 1 ? 0 : 8;
}
SOURCE
"${CC:-cc}" -O1 -o eat eat.c
# ate LIMIT OPTION MEGABYTES: with that limit in kB, under the runtime
ate() {
    rm -f -- *.rprof
    (
        ulimit "$2" "$1"
        REUSE_OUTPUT=p.rprof LD_PRELOAD=$REUSE_BUILDDIR/runtime/.libs/libreuse.so exec ./eat "$3"
    ) >out 2>err
    status=$?
    test "$status $(cat out)" = "0 eaten"
}
for limit in "40000 -v 20" "100000 -v 80" "900000 -v 880" "100000 -d 80"; do
    # shellcheck disable=SC2086
    check "address space for the program alone ($limit): unchanged" ate $limit
    check "... and said once" test "$(grep -c 'runs unprofiled: profiling takes 96 MB of address space' err)" -eq 1
    check "... no profile" test "$(profiles)" -eq 0
done
if $usable; then
    check "address space for both: unchanged" ate 960000 -v 840
    # The shell that it starts may have a sample as well.
    check "... and profiled" test "$(profiles)" -ge 1
fi

strip -o stripped sweep
start "$reuse_run" ./stripped
check "stripped program: unchanged" unchanged

if $usable; then
    start "$reuse_run" -o nowhere/x.rprof ./sweep
    check "output in a folder that is not there: unchanged" unchanged
    check "output in a folder that is not there: said" err_has 'cannot create .*/nowhere/x.rprof'
    start "$reuse_run" -o . ./sweep
    check "output is a directory: unchanged" unchanged
    check "output is a directory: the profile is in it" test "$(profiles)" -eq 1
    start "$reuse_run" -o /dev/full ./sweep
    check "full disk: unchanged" unchanged
    check "full disk: said" err_has 'cannot write to /dev/full'
    (
        ulimit -f 1
        start "$reuse_run" ./sweep
        exit "$status"
    )
    status=$?
    check "file size limit: not killed by SIGXFSZ" unchanged
    if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && id nobody >/dev/null 2>&1 &&
        setpriv --reuid=nobody --clear-groups test -x "$reuse_run"; then
        chmod 755 . sweep
        run setpriv --reuid=nobody --regid=nogroup --clear-groups "$reuse_run" ./sweep
        check "folder without permission: unchanged" unchanged
        check "folder without permission: said" err_has 'cannot create .*EACCES'
    else
        skip "folder without permission" "needs root, nobody, setpriv and a readable build"
    fi
else
    skip "output" "performance events are not usable here"
fi
# What is missing is named: no limit of the address space is set here.
no_memory=$REUSE_BUILDDIR/tests/integration/programs/target_no_memory
start "$reuse_run" "$no_memory" locked
check "memory that the program locks" err_has 'memory to look ahead with \(EAGAIN\).*raise `ulimit -l`'
check "... and the closing line agrees" err_has 'no sample \(no memory to look ahead with\)'
start "$reuse_run" "$no_memory" full
check "a full address space" err_has 'memory to look ahead with \(ENOMEM\).*uses all of its address space'
finish
