/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of accesses by what served them: against sums made one access at a time, and intervals
 * against how often they hold the truth that the samples were drawn from.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/served.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { RECORDS = 400 };

static struct random random_state;
static struct record_served records[2][RECORDS];
static const struct profile profiles[2] = {
    {.served = {records[0], RECORDS}},
    {.served = {records[1], RECORDS}},
};
static const struct profile *const both[] = {&profiles[0], &profiles[1]};

static int seed(void **state)
{
    (void)state;
    random_seed(&random_state, test_seed());
    return 0;
}

static void draw(struct record_served *record, unsigned levels)
{
    *record = (struct record_served){
        .thread_id = 1 + (uint32_t)random_below(&random_state, 3),
        .level = (uint8_t)random_below(&random_state, levels),
        .kind = (uint8_t)(1 + random_below(&random_state, 3)),
        .samples = 1 + random_below(&random_state, 20),
    };
    record->weight = record->samples * (100 + random_below(&random_state, 1000));
}

/* The same questions, asked of each record anew. */
static void check(uint32_t thread, unsigned kinds)
{
    struct served_shares shares;
    double all = 0, part[LEVEL_COUNT] = {0};
    uint64_t samples = 0, told = 0;

    assert_true(served_shares_of(both, 2, thread, kinds, &shares));
    for (unsigned i = 0; i < 2 * RECORDS; i++) {
        const struct record_served *record = &records[i % 2][i / 2];
        bool load = record->kind != ACCESS_STORE, store = record->kind != ACCESS_LOAD;

        if (thread && record->thread_id != thread)
            continue;
        if (!((load && kinds & ACCESS_LOAD) || (store && kinds & ACCESS_STORE)))
            continue;
        samples += record->samples;
        if (record->level == 0 || record->level >= LEVEL_COUNT)
            continue;
        told += record->samples;
        part[record->level] += (double)record->weight;
        all += (double)record->weight;
    }
    assert_int_equal(shares.samples, samples);
    assert_int_equal(shares.told, told);
    assert_true(shares.effective > 0 && shares.effective <= (double)told * (1 + 1e-12));
    for (unsigned level = 1; level < LEVEL_COUNT; level++) {
        struct estimate share = served_share(&shares, (enum access_level)level);

        assert_true(fabs(share.value - part[level] / all) < 1e-12);
        assert_true(0 <= share.lo && share.lo <= share.value && share.value <= share.hi &&
                    share.hi <= 1);
    }
    /* The fill buffer is L1's; what is near is not beyond. */
    part[LEVEL_L1] += part[LEVEL_FILL_BUFFER];
    static const enum access_level caches[] = {LEVEL_L1, LEVEL_L2, LEVEL_L3};
    double within = 0;

    for (unsigned cache = 1; cache <= 3; cache++) {
        within += part[caches[cache - 1]];
        assert_true(fabs(served_beyond(&shares, cache).value - (1 - within / all)) < 1e-9);
    }
}

static void shares_are_those_of_all_records(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 50; round++) {
        /* Levels that a newer version may know are as good as untold. */
        for (unsigned i = 0; i < 2 * RECORDS; i++)
            draw(&records[i % 2][i / 2], LEVEL_COUNT + 2);
        for (uint32_t thread = 0; thread <= 3; thread++)
            for (unsigned kinds = 1; kinds <= 3; kinds++)
                check(thread, kinds);
    }
}

static void nothing_is_known_without_records(void **state)
{
    struct served_shares shares;
    struct estimate share;

    (void)state;
    assert_false(served_shares_of(both, 0, 0, ACCESS_LOAD, &shares));
    for (unsigned i = 0; i < RECORDS; i++)
        draw(&records[0][i], 1);
    /* Samples, but none of which the source is told: the share may be anything. */
    assert_true(served_shares_of(both, 1, 0, ACCESS_LOAD | ACCESS_STORE, &shares));
    assert_int_equal(shares.told, 0);
    share = served_beyond(&shares, 1);
    assert_true(share.lo == 0 && share.hi == 1);
}

/* Samples of unequal weight from a known mixture: each weight has the same shares. */
static void intervals_hold_the_truth(void **state)
{
    enum { TRIALS = 2000 };
    static const double truths[] = {0.01, 0.1, 0.5, 0.97};

    (void)state;
    for (unsigned t = 0; t < sizeof truths / sizeof truths[0]; t++) {
        unsigned held = 0;

        for (unsigned trial = 0; trial < TRIALS; trial++) {
            struct served_shares shares;
            struct estimate share;

            for (unsigned i = 0; i < RECORDS; i++) {
                double chance = (double)(random_next(&random_state) >> 11) * 0x1p-53;

                records[0][i] = (struct record_served){
                    .level = chance < truths[t] ? LEVEL_DRAM : LEVEL_L1,
                    .kind = ACCESS_LOAD,
                    .samples = 1,
                    .weight = random_below(&random_state, 2) ? 1000 : 3000,
                };
            }
            assert_true(served_shares_of(both, 1, 0, ACCESS_LOAD, &shares));
            share = served_beyond(&shares, 2);
            held += share.lo <= truths[t] && truths[t] <= share.hi;
        }
        /* 95 % but for chance (five deviations) and what Wilson's interval is known to be off by.
         */
        assert_in_range(held, TRIALS * 91 / 100, TRIALS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_those_of_all_records),
        cmocka_unit_test(nothing_is_known_without_records),
        cmocka_unit_test(intervals_hold_the_truth),
    };

    return cmocka_run_group_tests(tests, seed, NULL);
}
