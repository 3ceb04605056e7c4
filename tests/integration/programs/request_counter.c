/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request_counter KIND COUNT: two threads do COUNT requests each, and count them
 *   together   in one atomic variable, on whose line lies a pointer that both only read
 *   apart      each in a variable of its own
 * Prints the CPU time in ms.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENTRIES = 4096, THREADS = 2 };

static const uint32_t *volatile table __attribute__((section("counted"), aligned(64))) =
    (const uint32_t *)1;
static _Atomic uint64_t requests __attribute__((section("counted"))) = 1;

static long count;
static int together;

static uint64_t handle(uint64_t state)
{
    for (int i = 0; i < 3; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state += table[state % ENTRIES];
    }
    return state;
}

static void *serve(void *seed)
{
    uint64_t state = (uintptr_t)seed, own = 0;

    if (together)
        for (long i = 0; i < count; i++) {
            state = handle(state);
            atomic_fetch_add(&requests, 1); /* mark: counts */
        }
    else
        for (long i = 0; i < count; i++) {
            state = handle(state);
            own++;
        }
    atomic_fetch_add(&requests, own + (state == 0));
    return NULL;
}

int main(int argc, char **argv)
{
    uint32_t *entries = malloc(ENTRIES * sizeof(*entries));
    pthread_t threads[THREADS];

    if (argc < 3 || entries == NULL)
        return 2;
    together = strcmp(argv[1], "together") == 0;
    count = atol(argv[2]);
    for (uint32_t i = 0; i < ENTRIES; i++)
        entries[i] = i;
    table = entries;
    for (uintptr_t t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, serve, (void *)(t + 1)) != 0)
            return 1;
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    printf("%ld ms\n", (long)(clock() * 1000.0 / CLOCKS_PER_SEC));
    return 0;
}
