/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write-backs of every size in one pass, against LRU caches that are simulated one by one with a
 * dirty bit for each line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profile/histogram_bin.h"
#include "reuse/exact_dirty.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { LINES = 2000, ACCESSES = 30000 };

/* A cache as the books have it: most recent first. */
struct cache {
    uint64_t line[LINES];
    bool dirty[LINES];
    uint64_t count, capacity, written_back;
};

static void cache_use(struct cache *cache, uint64_t line, bool store)
{
    uint64_t i = 0;
    bool dirty = store;

    while (i < cache->count && cache->line[i] != line)
        i++;
    if (i < cache->count) {
        dirty |= cache->dirty[i];
    } else if (cache->count < cache->capacity) {
        cache->count++;
    } else {
        i = cache->count - 1;
        cache->written_back += cache->dirty[i];
    }
    memmove(&cache->line[1], &cache->line[0], i * sizeof cache->line[0]);
    memmove(&cache->dirty[1], &cache->dirty[0], i * sizeof cache->dirty[0]);
    cache->line[0] = line;
    cache->dirty[0] = dirty;
}

static uint64_t cache_flush(struct cache *cache)
{
    for (uint64_t i = 0; i < cache->count; i++)
        cache->written_back += cache->dirty[i];
    return cache->written_back;
}

static uint64_t write_backs(const struct exact_dirty *dirty, uint64_t lines)
{
    uint64_t sum = dirty->first;

    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
        if (histogram_bin_low(bin) >= lines)
            sum += dirty->bins[bin];
    return sum;
}

/* Traces of different character. */
static uint64_t next_line(struct random *random, int character, uint64_t i, bool *store)
{
    uint64_t line = i % LINES;

    *store = random_below(random, 4) == 0;
    switch (character) {
    case 0:
        return random_below(random, LINES);
    case 1:
        return random_below(random, 8) ? random_below(random, 40) : random_below(random, LINES);
    case 2: /* written in one sweep, read in the next two */
        *store = i / LINES % 3 == 0;
        return line;
    case 3: /* some lines are only read */
        line = random_below(random, 600);
        *store = line % 3 == 0 && random_below(random, 2);
        return line;
    default: /* each line several times in a row, stored to at the end */
        *store = i % 7 == 6;
        return i / 7 % 900;
    }
}

/* Sizes at which bins begin, so that the counts must be equal. */
static const uint64_t sizes[] = {8, 9, 31, 64, 100, 127, 128, 160, 256, 512, 1024, 1600, 1984};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static bool keep_all(void *context, uint64_t line)
{
    (void)context;
    (void)line;
    return true;
}

static void agrees_with_caches(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, test_seed());
    for (int character = 0; character < 5; character++) {
        static struct cache caches[SIZES];
        static struct exact_dirty dirty;
        struct exact_stack stack, copy;

        memset(caches, 0, sizeof caches);
        memset(&dirty, 0, sizeof dirty);
        for (unsigned k = 0; k < SIZES; k++)
            caches[k].capacity = sizes[k];
        assert_true(exact_stack_create(&stack) && exact_stack_keep_marks(&stack));
        for (uint64_t i = 0; i < ACCESSES; i++) {
            bool store;
            uint64_t line = next_line(&random, character, i, &store);

            exact_dirty_use(&dirty, &stack, exact_stack_use(&stack, line), store);
            for (unsigned k = 0; k < SIZES; k++)
                cache_use(&caches[k], line, store);
            if (i == ACCESSES / 2) { /* a copy carries on where the stack was */
                assert_true(exact_stack_filter(&copy, &stack, true, keep_all, NULL));
                exact_stack_destroy(&stack);
                stack = copy;
            }
        }
        for (unsigned k = 0; k < SIZES; k++)
            assert_int_equal(write_backs(&dirty, sizes[k]), cache_flush(&caches[k]));
        exact_stack_destroy(&stack);
    }
}

/* Tables grow under the marks: a sweep that writes, and one that writes again. */
static void large_sweeps(void **state)
{
    const uint64_t lines = 300000;
    static struct exact_dirty dirty;
    struct exact_stack stack;

    (void)state;
    assert_true(exact_stack_create(&stack) && exact_stack_keep_marks(&stack));
    for (uint64_t i = 0; i < 3 * lines; i++)
        exact_dirty_use(&dirty, &stack, exact_stack_use(&stack, 5 * (i % lines)), true);
    assert_int_equal(dirty.first, lines);
    assert_int_equal(write_backs(&dirty, 1000), 3 * lines);
    assert_int_equal(write_backs(&dirty, 2 * lines), lines);
    exact_stack_destroy(&stack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_caches),
        cmocka_unit_test(large_sweeps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
