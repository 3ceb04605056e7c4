/* SPDX-License-Identifier: BSD-3-Clause */
/* Radix sort: each thread counts the digits of its part, then scatters to places of its own. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

enum { KEYS = 6 * 1000 * 1000, BITS = 11, DIGITS = 1 << BITS, THREADS_MAX = 64 };

static uint32_t places[THREADS_MAX][DIGITS];

static void add_up(int threads)
{
    uint32_t sum = 0;

    for (int digit = 0; digit < DIGITS; digit++) {
        for (int t = 0; t < threads; t++) {
            uint32_t count = places[t][digit];
            places[t][digit] = sum;
            sum += count;
        }
    }
}

static void pass(uint32_t *restrict to, const uint32_t *restrict from, int shift)
{
#pragma omp parallel num_threads(omp_get_max_threads() < THREADS_MAX ? omp_get_max_threads()       \
                                                                     : THREADS_MAX)
    {
        int thread = omp_get_thread_num(), threads = omp_get_num_threads();
        size_t begin = (size_t)KEYS * (size_t)thread / (size_t)threads;
        size_t end = (size_t)KEYS * ((size_t)thread + 1) / (size_t)threads;
        uint32_t *mine = places[thread];

        for (int digit = 0; digit < DIGITS; digit++)
            mine[digit] = 0;
        for (size_t i = begin; i < end; i++)
            mine[from[i] >> shift & (DIGITS - 1)]++;
#pragma omp barrier
#pragma omp single
        add_up(threads);
        for (size_t i = begin; i < end; i++)
            to[mine[from[i] >> shift & (DIGITS - 1)]++] = from[i];
    }
}

int main(void)
{
    uint32_t *keys = malloc(KEYS * sizeof *keys), *other = malloc(KEYS * sizeof *other);
    uint64_t state = 88172645463325252u, sum = 0;

    if (!keys || !other)
        return 1;
    for (int repeat = 0; repeat < 14; repeat++) {
        for (size_t i = 0; i < KEYS; i++)
            keys[i] = (uint32_t)(random_next(&state) >> 31);
        for (int shift = 0; shift < 32; shift += BITS) {
            pass(other, keys, shift);
            uint32_t *swap = keys;
            keys = other;
            other = swap;
        }
        for (size_t i = 0; i < KEYS; i += 1000)
            sum = sum * 31 + keys[i];
    }
    printf("%llu\n", (unsigned long long)sum);
    free(keys);
    free(other);
    return 0;
}
