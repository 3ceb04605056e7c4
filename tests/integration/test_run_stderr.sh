#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Programs that close stderr. At their end, as those of GNU do: where the profile is must still be said.
# Before it, as daemons do: who reads from it learns that nothing more will come.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
cd "$work" || exit 1

cat >closing.c <<'SOURCE'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static volatile long sums[1 << 12];
static void burn(void)
{
    while (clock() < CLOCKS_PER_SEC / 10)
        for (int i = 0; i < 1 << 12; i++)
            sums[i] += i;
}
static void close_stream(void)
{
    fclose(stderr);
}
static void close_descriptor(void)
{
    close(STDERR_FILENO);
}
/* The number then belongs to a file of the program's. */
static void replace(void)
{
    fclose(stderr);
    open("other", O_WRONLY | O_CREAT, 0600);
}
int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "";
    if (strcmp(how, "early") == 0) {
        char byte;
        fclose(stderr);
        burn();
        alarm(10);
        return read(STDIN_FILENO, &byte, 1) == 1 ? 0 : 1;
    }
    atexit(strcmp(how, "stream") == 0 ? close_stream
           : strcmp(how, "replace") == 0 ? replace : close_descriptor);
    burn();
    if (count > 2)
        exit(3);
    return 3;
}
SOURCE
${CC:-cc} -O1 -g -o closing closing.c || exit 1

is_told() { status_is 3 && err_is_one_line && err_has 'look at it with: reuse-report .*\.rprof$'; }
for how in stream descriptor replace; do
    run "$reuse_run" ./closing $how
    if err_has unprofiled; then
        skip "stderr closed at the end ($how)" "programs run unprofiled here"
        continue
    fi
    check "stderr closed at the end ($how): the closing line comes" is_told
    run "$reuse_run" ./closing $how exit
    check "the same in exit() ($how)" is_told
    run "$reuse_run" -q ./closing $how
    check "the same, quiet ($how)" err_is_empty
done
check "nothing is written to what has taken its number" test -e other -a ! -s other

# Who waits for a program before it reads from it: what the program says itself has its room in the pipe, whatever
# was to be said of the profile.
cat >full.py <<'PYTHON'
import fcntl
import os
import subprocess
import sys
F_GETPIPE_SZ = 1032
program = """
import os, sys
sum(x * x for x in range(3000000))
os.write(2, b"x" * int(sys.argv[1]))
sys.exit(3)
"""
reading, writing = os.pipe()
size = fcntl.fcntl(writing, F_GETPIPE_SZ) - int(sys.argv[1])
started = subprocess.Popen(sys.argv[2:] + [sys.executable, "-c", program, str(size)], stderr=writing)
os.close(writing)
try:
    status = started.wait(timeout=20)
except subprocess.TimeoutExpired:
    started.kill()
    sys.exit("it waits")
told = b""
while part := os.read(reading, 65536):
    told += part
sys.exit(status if told.count(b"x" * size) == 1 else "its own words are not there")
PYTHON
for room in 0 100 300 5000; do
    run python3 full.py $room "$reuse_run"
    check "a pipe with $room bytes to spare is not waited for" status_is 3
done

# The program waits for a byte, which comes after the reader has got to its end.
mkfifo both answer
"$reuse_run" ./closing early 2>both <answer >/dev/null &
program=$!
exec 3<>answer
check "stderr closed earlier: its reader gets to its end" sh -c 'timeout 8 cat both >told'
check "... and was told where the profile is" grep -q 'closes its standard error; .*: reuse-report .*rprof$' told
check "and the program is still there" kill -0 $program
echo >&3
wait $program
check "and goes on" test $? -eq 0
finish
