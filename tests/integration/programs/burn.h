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

static inline long thread_cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Sweeps over 256 KB of the heap for so many milliseconds of the thread's CPU time. */
static inline void burn(long ms)
{
    enum { ELEMENTS = 65536 };
    long end = thread_cpu_ms() + ms;
    volatile int *block = (volatile int *)malloc(ELEMENTS * sizeof *block);
    if (block == NULL) {
        perror("burn");
        exit(99);
    }
    do {
        for (size_t i = 0; i < ELEMENTS; i++)
            block[i] = (int)i;
    } while (thread_cpu_ms() < end);
    free((void *)block);
}

#endif
