/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads that take turns, for tests of communication whose counts are known. In each of N
 * rounds thread A writes word 0 of a line; then B reads word 0 and writes word 1. By the
 * definitions: A's write: B holds a copy and wrote last: WAW B->A, true because B read word 0 (N -
 * 1 times) B's read:  RAW A->B, true (N times) B's write: A holds a copy and wrote last: WAW A->B,
 * false (N times) Prints the address of the line. The turns are passed through another line.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile long line[64] __attribute__((aligned(4096)));
static int turn __attribute__((aligned(4096)));
static int rounds;

static void wait_for(int wanted)
{
    while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != wanted)
        continue;
}

static void pass_to(int next)
{
    __atomic_store_n(&turn, next, __ATOMIC_RELEASE);
}

/* Reads what the other wrote, then writes a word that the other never touches. */
static void *other(void *argument)
{
    for (int i = 0; i < rounds; i++) {
        wait_for(1);
        (void)line[0];
        line[1] = i;
        pass_to(0);
    }
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    rounds = argc > 1 ? atoi(argv[1]) : 1000;
    (void)printf("%p\n", (void *)line);
    if (pthread_create(&thread, NULL, other, NULL) != 0)
        return 1;
    for (int i = 0; i < rounds; i++) {
        wait_for(0);
        line[0] = i;
        pass_to(1);
    }
    return pthread_join(thread, NULL) != 0;
}
