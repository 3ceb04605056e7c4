/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work for the target programs: memory accesses for a given CPU time, so that a profiler takes
 * samples while a program does what the test is about.
 */
#ifndef TARGET_BURN_H
#define TARGET_BURN_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* CPU time that a process must use before a profile of it is expected, with a margin. */
enum { BURN_MS = 150 };

/* CPU time of the thread, us. */
static inline long thread_cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static inline long thread_cpu_ms(void)
{
    return thread_cpu_us() / 1000;
}

/* Sweeps over 256 KB of the heap for so many milliseconds of the thread's CPU time. A virtual
 * machine whose processor is taken away counts that as CPU time: a sweep, of some 50 us, counts 2
 * ms at most. */
static inline void burn(long ms)
{
    enum { ELEMENTS = 65536 };
    const long sweep_us_most = 2000;
    long left = ms * 1000, before = thread_cpu_us();
    volatile int *block = (volatile int *)malloc(ELEMENTS * sizeof *block);
    if (block == NULL) {
        perror("burn");
        exit(99);
    }
    do {
        long now;

        for (size_t i = 0; i < ELEMENTS; i++)
            block[i] = (int)i;
        now = thread_cpu_us();
        left -= now - before < sweep_us_most ? now - before : sweep_us_most;
        before = now;
    } while (left > 0);
    free((void *)block);
}

#endif
