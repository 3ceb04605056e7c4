/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that count in shared counters by exclusive loads and stores (ldxr, stxr), which a taken
 * exception makes fail: a watch that trapped on each of them would keep the program from ever
 * getting on. Prints the sum of all counters.
 *
 * usage: exclusive_counters THREADS ROUNDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A line for each, and more of them than the profiler looks ahead. */
enum { COUNTERS = 4096, THREADS_MAX = 16 };

static struct {
    _Alignas(64) uint64_t value;
} counters[COUNTERS];
static long rounds;

static void count(uint64_t *counter)
{
    uint64_t value;
    uint32_t failed;

    __asm__ volatile("1: ldxr %0, [%2]\n\t"
                     "add %0, %0, #1\n\t"
                     "stxr %w1, %0, [%2]\n\t"
                     "cbnz %w1, 1b"
                     : "=&r"(value), "=&r"(failed)
                     : "r"(counter)
                     : "memory");
}

static void *run(void *unused)
{
    for (long round = 0; round < rounds; round++)
        for (unsigned i = 0; i < COUNTERS; i++)
            count(&counters[i].value);
    return unused;
}

int main(int argc, char **argv)
{
    int threads = argc == 3 ? atoi(argv[1]) : 0;
    pthread_t others[THREADS_MAX];
    uint64_t sum = 0;

    if (threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: exclusive_counters THREADS ROUNDS\n");
        return 2;
    }
    rounds = atol(argv[2]);
    for (int i = 1; i < threads; i++)
        pthread_create(&others[i], NULL, run, NULL);
    run(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    for (unsigned i = 0; i < COUNTERS; i++)
        sum += counters[i].value;
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
