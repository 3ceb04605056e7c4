/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads, each adding to a small heap block of its own; the two blocks lie side by side.
 * Usage: target_neighbours TURNS. Prints the sum, and on stderr where the blocks lie; what follows
 * shows that blocks can be resized and freed as always.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both threads add this often before either goes on: whichever way they are scheduled, the line
 * moves between them in each round. */
enum { ADDS = 16 };

static long turns;
static pthread_barrier_t round_end;
static void *volatile fillers[8];

static void *add(void *block)
{
    volatile long *counter = block;

    for (long i = 0; i < turns; i++) {
        for (int k = 0; k < ADDS; k++)
            *counter += 1;
        pthread_barrier_wait(&round_end);
    }
    return NULL;
}

/* So that the next two blocks share a line of 64 bytes. */
static __attribute__((noinline)) void fill_up(void)
{
    for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++) {
        fillers[i] = malloc(sizeof(long));
        if ((uintptr_t)fillers[i] % 64 == 32)
            break;
    }
}

int main(int argc, char **argv)
{
    enum { BLOCKS = 2 };
    long *counters[BLOCKS];
    pthread_t threads[BLOCKS];

    turns = argc > 1 ? atol(argv[1]) : 1000;
    fill_up();
    counters[0] = malloc(sizeof *counters[0]);
    counters[1] = malloc(sizeof *counters[1]);
    *counters[0] = *counters[1] = 0;
    pthread_barrier_init(&round_end, NULL, BLOCKS);
    for (int i = 0; i < BLOCKS; i++)
        pthread_create(&threads[i], NULL, add, counters[i]);
    for (int i = 0; i < BLOCKS; i++)
        pthread_join(threads[i], NULL);
    printf("sum %ld\n", *counters[0] + *counters[1]);
    for (int i = 0; i < BLOCKS; i++)
        fprintf(stderr, "block %p usable %zu\n", (void *)counters[i],
                malloc_usable_size(counters[i]));
    counters[0] = realloc(counters[0], 100000);
    memset(counters[0] + 1, 0, 100000 - sizeof(long));
    printf("kept %ld\n", *counters[0]);
    for (int i = 0; i < BLOCKS; i++)
        free(counters[i]);
    for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++)
        free(fillers[i]);
    return 0;
}
