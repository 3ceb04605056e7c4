/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrays that come and go by the hundred thousand, with a preloaded library that tracks a sample of
 * blocks and whose tracking is dear (ALLOCATION_SAMPLE, ALLOCATION_TICK_NS). What it tells of those
 * that it knows, weighed, is compared with all of them. Once on the heap that begins where the
 * program's data end, once in a thread, where nothing but our blocks tells that memory is heap.
 * Speaks TAP. Bounds are those that chance breaks once in a million runs.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "allocation_preload.h"
#include "profile/format.h"

enum { SMALL_BLOCKS = 20000, FEW = 200, MANY = 200000, BYTES = 100000 };

static __typeof__(allocation_test_find) *find;
static int failures, tests;

static void result(bool passed, const char *where, const char *name)
{
    printf("%sok %d - %s: %s\n", passed ? "" : "not ", ++tests, where, name);
    failures += !passed;
}

/* One function for each kind of block: a place of its own. */
#define NEW_BLOCK(name)                                                                            \
    __attribute__((noinline)) static char *name(size_t bytes)                                      \
    {                                                                                              \
        char *volatile block = malloc(bytes);                                                      \
        return block;                                                                              \
    }
NEW_BLOCK(new_small)
NEW_BLOCK(new_array)
NEW_BLOCK(new_temporary)
__attribute__((noinline)) static char *moved(char *block, size_t bytes)
{
    char *volatile result = realloc(block, bytes);
    return result;
}

struct sum {
    unsigned certain, chosen, unknown;
    double estimate, variance;
};

static void note(const char *block, struct sum *sum)
{
    struct allocation_test_answer answer;
    if (!find(block + BYTES / 2, &answer) ||
        (answer.kind != OBJECT_HEAP && answer.kind != OBJECT_HEAP_UNTRACKED)) {
        sum->unknown++;
    } else if (answer.kind == OBJECT_HEAP && answer.base == (uint64_t)(uintptr_t)block) {
        const double weight = ldexp(1, answer.tracked_log2);
        *(answer.tracked_log2 == 0 ? &sum->certain : &sum->chosen) += 1;
        sum->estimate += weight;
        sum->variance += (weight - 1) * weight;
    }
}

static bool stands_for(const struct sum *sum, unsigned all, const char *what)
{
    printf("# %s: %u for certain, %u of the others, %.0f +- %.0f of %u estimated, %u unknown\n",
           what, sum->certain, sum->chosen, sum->estimate, sqrt(sum->variance), all, sum->unknown);
    return sum->certain + sum->chosen < all / 50 && sum->chosen > 50 &&
           fabs(sum->estimate - all) <= 5 * sqrt(sum->variance) + 1024;
}

static void *run(void *where)
{
    struct sum few = {0}, many = {0}, grown = {0};
    char *arrays[FEW];
    for (unsigned i = 0; i < SMALL_BLOCKS; i++)
        free(new_small(64));
    for (unsigned i = 0; i < FEW; i++)
        arrays[i] = new_array(BYTES);
    for (unsigned i = 0; i < FEW; i++)
        note(arrays[i], &few);
    for (unsigned i = 0; i < MANY; i++) {
        char *temporary = new_temporary(BYTES);
        note(temporary, &many);
        free(temporary);
    }
    /* The old block is tracked, so that realloc() has to do with it. */
    for (unsigned i = 0; i < MANY; i++) {
        arrays[0] = moved(arrays[0], BYTES + 16 * (i % 4));
        note(arrays[0], &grown);
    }
    for (unsigned i = 0; i < FEW; i++)
        free(arrays[i]);
    result(few.certain == FEW, where, "a few hundred arrays are known, however dear others are");
    result(stands_for(&many, MANY, "temporaries"), where, "a sample stands for all temporaries");
    result(stands_for(&grown, MANY, "moved ones"), where, "a sample stands for all that move");
    result(many.unknown + grown.unknown == 0, where, "what is not tracked is known as heap");
    return NULL;
}

int main(void)
{
    pthread_t thread;
    *(void **)&find = dlsym(RTLD_DEFAULT, "allocation_test_find");
    if (find == NULL)
        return 77;
    run("first thread");
    if (pthread_create(&thread, NULL, run, "another thread") != 0)
        return 2;
    pthread_join(thread, NULL);
    printf("1..%d\n", tests);
    return failures != 0;
}
