/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a made-up unit says it has sampled (tests/support/pmu_stand_in_records.c): an array, a heap
 * block as large that a global points to, and a function that sweeps over both.
 * served_program SECONDS THREADS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS = 1 << 15 };

uint64_t measured_array[WORDS];
uint64_t *measured_block;
static double seconds;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Not inlined: its address is where all made-up accesses are made. */
uint64_t measured_loop(void);
__attribute__((noinline)) uint64_t measured_loop(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < WORDS; i++)
        sum += *(volatile uint64_t *)&measured_array[i] + *(volatile uint64_t *)&measured_block[i];
    return sum;
}

static void *work(void *unused)
{
    double until = now() + seconds;

    while (now() < until)
        measured_loop();
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[16];
    int others = count > 2 ? atoi(arguments[2]) - 1 : 0;

    seconds = count > 1 ? strtod(arguments[1], NULL) : 1;
    measured_block = calloc(WORDS, sizeof *measured_block);
    if (!measured_block || others > 16)
        return 1;
    for (int i = 0; i < others; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    work(NULL);
    for (int i = 0; i < others; i++)
        pthread_join(threads[i], NULL);
    puts("served");
    free(measured_block);
    return 0;
}
