/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sample of blocks: its probabilities, and what accesses to it say of all blocks, against
 * programs whose every access is known: lists, trees and tables that take and give back nodes. The
 * draws are those of fixed seeds, so the bounds hold every time.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "objects/block_choice.h"
#include "objects/block_sample.h"

static struct block_choice choice;
static struct block_choice_skips skips;

static void begin(uint64_t seed)
{
    skips = (struct block_choice_skips){0};
    choice = (struct block_choice){.random_state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1};
}

/* -1: not tracked, else tracked_log2. */
static int allocate(uint64_t ip, uint64_t stack_pointer, size_t size)
{
    const unsigned place = block_choice_place(ip, stack_pointer, size);
    return block_choice_passes_over(&skips, place) ? -1
                                                   : (int)block_choice_take(&choice, &skips, place);
}

static void one_of_each_stratum(void **state)
{
    (void)state;
    begin(1);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(allocate(0x401000, 0x7ffe0000, 32), 0);
    const unsigned taken[] = {32, 64, 128, 1000};
    for (unsigned level = 1; level <= 4; level++) {
        for (unsigned stratum = 0; stratum < taken[level - 1]; stratum++) {
            unsigned chosen = 0;
            for (unsigned i = 0; i < 1u << 2 * level; i++) {
                const int log2 = allocate(0x401000, 0x7ffe0000, 32);
                assert_true(log2 == -1 || log2 == (int)(2 * level));
                chosen += log2 != -1;
            }
            assert_int_equal(chosen, 1);
        }
    }
    /* Another place starts anew. */
    assert_int_equal(allocate(0x401000, 0x7ffe0000, 2000), 0);
}

/* Buffers of some pages and arrays: all, until they are dear. */
static void larger_ones_are_chosen_while_dear(void **state)
{
    (void)state;
    begin(4);
    assert_true(block_choice_is_made(&choice, BLOCK_CHOICE_SMALL - 1));
    assert_false(block_choice_is_made(&choice, BLOCK_CHOICE_SMALL));
    assert_false(block_choice_is_made(&choice, SIZE_MAX));
    block_choice_spent(&choice, 2000000, 1000000);
    assert_true(block_choice_is_made(&choice, BLOCK_CHOICE_SMALL));
    assert_true(block_choice_is_made(&choice, SIZE_MAX));
    /* A second later that was little. */
    block_choice_spent(&choice, 1000000000, 1);
    assert_false(block_choice_is_made(&choice, BLOCK_CHOICE_SMALL));
    for (size_t size = 1; size != 0; size *= 2)
        assert_true(block_choice_place(0x401000, 0x7ffe0000, size) < 1 << BLOCK_CHOICE_PLACES_LOG2);
    assert_int_not_equal(block_choice_place(0x401000, 0x7ffe0000, UINT64_C(1) << 36),
                         block_choice_place(0x401000, 0x7ffe0000, UINT64_C(1) << 37));
}

/* A gradual choice knows the first of each place for certain, however dear they are; then it goes
 * by what they have taken too much. */
static void dear_ones_step_by_step(void **state)
{
    (void)state;
    enum { STEP = BLOCK_CHOICE_STEP_NS, START = 1000 };
    begin(5);
    choice.gradual = true;
    block_choice_spent(&choice, START + BLOCK_CHOICE_ADVANCE_NS,
                       BLOCK_CHOICE_ADVANCE_NS + STEP / 2);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(allocate(0x401000, 0x7ffe0000, 100000), 0);
    for (int log2 = 2; log2 <= BLOCK_CHOICE_TRACKED_LOG2_MAX + 2; log2 += 2) {
        unsigned chosen = 0;
        /* What was drawn before goes by first. */
        for (unsigned i = 0; i < 4096; i++)
            allocate(0x401000, 0x7ffe0000, 100000);
        const int expected =
            log2 < BLOCK_CHOICE_TRACKED_LOG2_MAX ? log2 : BLOCK_CHOICE_TRACKED_LOG2_MAX;
        for (unsigned i = 0; i < 1 << 20; i++) {
            const int tracked_log2 = allocate(0x401000, 0x7ffe0000, 100000);
            assert_true(tracked_log2 == -1 || tracked_log2 == expected);
            chosen += tracked_log2 != -1;
        }
        assert_in_range(chosen, (1 << 20 >> expected) - 1, (1 << 20 >> expected) + 1);
        block_choice_spent(&choice, START + BLOCK_CHOICE_ADVANCE_NS, STEP);
    }
    /* No longer dear: there is no choice to be made. */
    block_choice_spent(&choice, 1000000000, 1);
    assert_false(block_choice_is_made(&choice, 100000));
}

/* Of a million a second, each of which takes 1 us to track, one of 128 can be afforded: that many
 * are tracked, none of them for more than 1024, and they stand for all. */
static void as_many_as_their_part_pays_for(void **state)
{
    (void)state;
    enum { BLOCKS = 4000000 };
    double stood_for = 0, variance = 0;
    unsigned tracked = 0;
    begin(6);
    choice.gradual = true;
    for (unsigned i = 0; i < BLOCKS; i++) {
        const int log2 =
            block_choice_is_made(&choice, 100000) ? allocate(0x401000, 0x7ffe0000, 100000) : 0;
        if (log2 < 0)
            continue;
        stood_for += ldexp(1, log2);
        variance += ldexp(1, log2) * (ldexp(1, log2) - 1);
        tracked++;
        block_choice_spent(&choice, 1000000 + i * UINT64_C(1000), 1000);
    }
    assert_in_range(tracked, BLOCKS / 128, BLOCKS / 128 + 1000);
    assert_true(fabs(stood_for - BLOCKS) <= 5 * sqrt(variance) + 1024);
    /* It would be 1015 if they went to and fro between all and one of 1024. */
    assert_true(variance < 200. * BLOCKS);
}

/* One of 1024 of those that take too much time, whose weights add up to all that were allocated. */
static void fewer_of_what_is_dear(void **state)
{
    (void)state;
    enum { BLOCKS = 1 << 22 };
    int highest = -1, second = -1;
    double stood_for = 0;
    unsigned chosen = 0;
    begin(3);
    block_choice_spent(&choice, 2000000, 1000000);
    for (unsigned i = 0; i < BLOCKS; i++) {
        const int log2 = allocate(0x401000, 0x7ffe0000, 32);
        if (log2 < 0)
            continue;
        second = chosen == 1 ? log2 : second;
        highest = log2 > highest ? log2 : highest;
        stood_for += ldexp(1, log2);
        chosen++;
    }
    assert_int_equal(second, 8);
    assert_int_equal(highest, 10);
    assert_in_range(chosen, BLOCKS / 1024, BLOCKS / 1024 + 1 + 16);
    assert_true(fabs(stood_for - BLOCKS) <= 1024);
    /* Cheap again: what is tracked keeps its probability. */
    block_choice_spent(&choice, 1000000000, 1000);
    assert_false(choice.dear);
    for (unsigned i = 0; i < 100000; i++) {
        const int log2 = allocate(0x401000, 0x7ffe0000, 32);
        assert_true(log2 == -1 || log2 == 10);
    }
}

/* Blocks that come with the period of the strata are chosen as often as all others. */
static void periods_do_not_matter(void **state)
{
    (void)state;
    enum { STRATA = 64000, PERIOD = 256 };
    unsigned counts[PERIOD] = {0};
    begin(2);
    for (unsigned i = 0; i < 16 + 32 * 4 + 64 * 16 + 128 * 64; i++)
        allocate(1, 2, 3);
    for (unsigned i = 0; i < STRATA * PERIOD; i++)
        counts[i % PERIOD] += allocate(1, 2, 3) != -1;
    double chi_square = 0;
    for (unsigned i = 0; i < PERIOD; i++) {
        const double excess = counts[i] - (double)STRATA / PERIOD;
        chi_square += excess * excess / ((double)STRATA / PERIOD);
    }
    assert_true(chi_square < 330); /* 255 degrees of freedom: 330 has 0.1 % */
}

/*
 * A program: sites that allocate nodes, all live at once, and accesses to them. skew 0: all nodes
 * alike; else node i of n gets accesses in proportion to 1 / (i + 1)^skew, in an order that has
 * nothing to do with that of allocation.
 */
enum { SITES = 4, RUNS = 200 };

struct structure {
    unsigned nodes;
    double accesses; /* in all */
    double skew;
};

static const struct structure program[SITES] = {
    {90000, 500, 0},   /* a list */
    {30000, 300, 0.5}, /* a tree: nodes near its root see more */
    {16, 100, 0},      /* tables, and */
    {1, 100, 0},       /* a block that everything uses, allocated when all the others are there */
};

static double node_accesses(const struct structure *structure, unsigned i)
{
    const unsigned rank = (unsigned)((uint64_t)i * 7919 % structure->nodes);
    double sum = 0;
    if (structure->skew == 0)
        return structure->accesses / structure->nodes;
    static double weights[SITES];
    double *weight = &weights[structure - program];
    if (*weight == 0) {
        for (unsigned n = 0; n < structure->nodes; n++)
            sum += pow(n + 1, -structure->skew);
        *weight = sum;
    }
    return structure->accesses * pow(rank + 1, -structure->skew) / *weight;
}

struct outcome {
    double estimate[SITES];
    double true_variance[SITES]; /* Horvitz-Thompson, from the tracked blocks themselves */
};

static void run(uint64_t seed, struct outcome *outcome)
{
    begin(seed);
    memset(outcome, 0, sizeof *outcome);
    for (unsigned site = 0; site < SITES; site++) {
        for (unsigned i = 0; i < program[site].nodes; i++) {
            const int log2 = allocate(0x401000 + 16 * site, 0x7ffe1000, 48);
            const double accesses = node_accesses(&program[site], i);
            if (log2 == -1)
                continue;
            const double weight = ldexp(1, log2);
            outcome->estimate[site] += weight * accesses;
            outcome->true_variance[site] += (weight - 1) * weight * accesses * accesses;
        }
    }
}

static void estimates_are_unbiased(void **state)
{
    (void)state;
    double mean[SITES] = {0}, square[SITES] = {0}, stated[SITES] = {0};
    for (unsigned i = 0; i < RUNS; i++) {
        struct outcome outcome;
        run(i + 1, &outcome);
        for (unsigned site = 0; site < SITES; site++) {
            mean[site] += outcome.estimate[site] / RUNS;
            square[site] += outcome.estimate[site] * outcome.estimate[site] / RUNS;
            stated[site] += outcome.true_variance[site] / RUNS;
        }
    }
    for (unsigned site = 0; site < SITES; site++) {
        const double variance = fmax(square[site] - mean[site] * mean[site], 0);
        const double error = sqrt(variance / RUNS);
        assert_true(fabs(mean[site] - program[site].accesses) <= 4 * error + 1e-9);
        /* Strata of neighbours do not make it worse than independent draws. */
        assert_true(variance <= 1.25 * stated[site] + 1e-9);
        /* What is allocated a few times is certain. */
        if (program[site].nodes <= 16)
            assert_true(variance < 1e-9);
    }
}

static int compare_bases(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Blocks whose squared shares are known, observed through a sample of accesses. */
static void concentration_by_pairs(void **state)
{
    (void)state;
    enum { OBSERVED = 300, REPEATS = 400 };
    static const double shares[] = {0.5, 0.2, 0.1, 0.1, 0.05, 0.05};
    uint64_t random = 88172645463325252u, bases[OBSERVED];
    double truth = 0, mean = 0;
    for (unsigned i = 0; i < 6; i++)
        truth += shares[i] * shares[i];
    for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
        for (unsigned i = 0; i < OBSERVED; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            double at = (double)(random >> 11) * 0x1p-53;
            unsigned block = 0;
            while (block < 5 && at >= shares[block])
                at -= shares[block++];
            bases[i] = 0x5000 + 64 * block;
        }
        qsort(bases, OBSERVED, sizeof bases[0], compare_bases);
        mean += block_sample_concentration(bases, OBSERVED) / REPEATS;
    }
    assert_true(fabs(mean - truth) < 0.005);
    assert_true(block_sample_concentration(bases, 1) == 1);
    assert_true(block_sample_concentration(bases, 0) == 1);
    for (unsigned i = 0; i < OBSERVED; i++)
        bases[i] = i;
    assert_true(block_sample_concentration(bases, OBSERVED) == 0);
}

static void parts_add_up(void **state)
{
    (void)state;
    const struct tracked_accesses tracked[] = {
        {.site = 2, .tracked_log2 = 0, .accesses = 10, .concentration = 1},
        {.site = 3, .tracked_log2 = 6, .accesses = 2, .concentration = 0.25},
        {.site = 3, .tracked_log2 = 2, .accesses = 3, .concentration = 0},
    };
    struct block_sample_estimate estimates[3], rest;
    block_sample_estimate(tracked, 3, 1000, estimates, &rest);
    assert_true(estimates[0].accesses == 10 && estimates[0].variance == 0);
    assert_true(estimates[1].accesses == 128 && estimates[1].variance == 63 * 64 * 0.25 * 4);
    assert_true(estimates[2].accesses == 12 && estimates[2].variance == 0);
    assert_true(rest.accesses == 850 && rest.variance == estimates[1].variance);
    /* More than all is scaled down to all. */
    block_sample_estimate(tracked, 3, 75, estimates, &rest);
    assert_true(fabs(estimates[1].accesses - 128 * 65.0 / 140) < 1e-12 && rest.accesses == 0);
    assert_true(estimates[0].accesses == 10);
    assert_true(fabs(estimates[0].accesses + estimates[1].accesses + estimates[2].accesses - 75) <
                1e-12);
    block_sample_estimate(NULL, 0, 5, NULL, &rest);
    assert_true(rest.accesses == 5 && rest.variance == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_each_stratum),
        cmocka_unit_test(larger_ones_are_chosen_while_dear),
        cmocka_unit_test(dear_ones_step_by_step),
        cmocka_unit_test(as_many_as_their_part_pays_for),
        cmocka_unit_test(fewer_of_what_is_dear),
        cmocka_unit_test(periods_do_not_matter),
        cmocka_unit_test(estimates_are_unbiased),
        cmocka_unit_test(concentration_by_pairs),
        cmocka_unit_test(parts_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
