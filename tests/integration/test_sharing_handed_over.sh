#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Rests on samples: see tests/run.
# Data that one thread writes word by word, or byte by byte, and another reads later: few of all stores are
# the last to a line, and only those are followed by the other thread.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
launcher=$REUSE_BUILDDIR/postproc/reuse-run
report=$REUSE_BUILDDIR/postproc/reuse-report
cd "$work" || exit 1
cat >pipe.c <<'SOURCE'
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
enum { BYTES = SIZE, N = BYTES / sizeof(WORD), BUFFERS = 4 };
static volatile WORD text[BUFFERS][N] __attribute__((aligned(64)));
static sem_t filled, empty;
static void *fill(void *rounds)
{
    unsigned state = 1;
    for (int r = 0; r < *(int *)rounds; r++) {
        sem_wait(&empty);
        for (int i = 0; i < N; i++)
            text[r % BUFFERS][i] = (WORD)((state = state * 1664525 + 1013904223) >> 20);
        sem_post(&filled);
    }
    return NULL;
}
int main(void)
{
    int rounds = ROUNDS;
    unsigned long sum = 0;
    pthread_t thread;
    sem_init(&filled, 0, 0);
    sem_init(&empty, 0, BUFFERS);
    pthread_create(&thread, NULL, fill, &rounds);
    for (int r = 0; r < rounds; r++) {
        sem_wait(&filled);
        for (int i = 0; i < N; i++)
            sum = sum * 31 + (unsigned long)text[r % BUFFERS][i];
        sem_post(&empty);
    }
    pthread_join(thread, NULL);
    printf("%lu\n%d\n", sum, 2 * BYTES / 64 * rounds); /* read, and overwritten later */
    return 0;
}
SOURCE
${CC:-cc} -O1 -g -DWORD=char -DSIZE=32768 -DROUNDS=50000 -o bytes pipe.c -lpthread || exit 1
${CC:-cc} -O1 -g -DWORD=long -DSIZE=262144 -DROUNDS=50000 -o words pipe.c -lpthread || exit 1
if ! registers_trap || [ "$(nproc)" -lt 2 ]; then
    skip "data that is handed over" "debug registers do not trap here, or one CPU"
    finish
    exit
fi

# asks EXPRESSION: on the `row` of the object, the `moved` lines that the program knows of, its `findings`.
asks() {
    python3 -c '
import json, sys
whole = json.load(open("json"))
rows = [row for row in whole["sharing"]["objects"] if row["name"] == "text"]
row, moved = rows[0] if rows else None, int(open("out").read().split()[-1])
findings = [f["pattern"] for f in whole["findings"]]
print(row, moved, findings)
sys.exit(not eval("(" + sys.argv[1] + ")"))' "$1"
}
for program in bytes words; do
    run "./$program"
    cp out plain
    # An interval is to hold in 95 of 100 runs: one of three may not.
    held=0
    for _ in 1 2 3; do
        run "$launcher" -q -e clock -o p.rprof "./$program"
        "$report" --format json p.rprof >json
        asks 'row and row["all_lo"] <= moved <= row["all_hi"]' >>held.log && held=$((held + 1))
    done
    check "$program: the program does what it does" cmp -s out plain
    check "$program: the object is seen to move" asks 'row and row["all"] > 0'
    check "$program: as often as it does, within two intervals of three" test "$held" -ge 2
    check "$program: within a factor of ten" asks 'moved / 10 < row["all"] < moved * 10'
    check "$program: it is read by the other thread" asks 'row["raw"] > 0'
    check "$program: hardly any of it is false" asks 'row["false"] < 0.25 * row["all"]'
done
finish
