/* SPDX-License-Identifier: BSD-3-Clause */
/* Random tests are other ones each time; TEST_SEED in the environment repeats a run. */
#ifndef TESTS_SUPPORT_TEST_SEED_H
#define TESTS_SUPPORT_TEST_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* TEST_SEED, or the time; told on stderr. */
static inline uint64_t test_seed(void)
{
    const char *given = getenv("TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    fprintf(stderr, "# TEST_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

#endif
