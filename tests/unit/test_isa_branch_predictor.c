/* SPDX-License-Identifier: BSD-3-Clause */
/* What a processor foresees and what not: patterns whose best prediction is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "isa/branch_predictor.h"
#include "sampling/random.h"

enum { BRANCH = 0x401000, OTHER = 0x402040, LEARNS = 20000, TURNS = 20000 };

static struct branch_predictor predictor;
static struct random draws;

static void begin(void)
{
    memset(&predictor, 0, sizeof predictor);
    random_seed(&draws, 7);
}

/* Mispredictions per turn of what happens in turn i, once it is learnt. */
static double wrong(bool (*turn)(unsigned i))
{
    unsigned count = 0;

    begin();
    for (unsigned i = 0; i < LEARNS; i++)
        turn(i);
    for (unsigned i = LEARNS; i < LEARNS + TURNS; i++)
        count += turn(i);
    return count / (double)TURNS;
}

static void expect(double found, double low, double high)
{
    if (found < low || found > high)
        fail_msg("%.4f instead of %.4f to %.4f", found, low, high);
}

static bool always(unsigned i)
{
    (void)i;
    return predictor_branch(&predictor, BRANCH, true);
}

/* A loop of 40 turns, left at the last: the history of 60 branches tells when. */
static bool counted(unsigned i)
{
    return predictor_branch(&predictor, BRANCH, i % 40 != 39);
}

static bool coin(unsigned i)
{
    (void)i;
    return predictor_branch(&predictor, BRANCH, random_below(&draws, 2));
}

/* Nine in ten are taken: nothing is better than to foresee that, and a simple predictor is wrong up
 * to twice as often. */
static bool biased(unsigned i)
{
    (void)i;
    return predictor_branch(&predictor, BRANCH, random_below(&draws, 10) != 0);
}

/* The second asks what the first has asked. */
static bool asked_twice(unsigned i)
{
    bool taken = random_below(&draws, 2);

    (void)i;
    predictor_branch(&predictor, BRANCH, taken);
    return predictor_branch(&predictor, OTHER, !taken);
}

/* An interpreter whose program is a loop of 12 operations. */
static bool interpreter(unsigned i)
{
    static const uint8_t program[] = {0, 3, 1, 3, 3, 2, 0, 5, 4, 3, 1, 0};

    return predictor_jump(&predictor, BRANCH, 0x500000 + 64u * program[i % sizeof program]);
}

static bool drawn_target(unsigned i)
{
    (void)i;
    return predictor_jump(&predictor, BRANCH, 0x500000 + 64u * random_below(&draws, 4));
}

/* Where it goes depends on what branches decided before it. */
static bool decided_before(unsigned i)
{
    bool taken = random_below(&draws, 2);

    (void)i;
    predictor_branch(&predictor, OTHER, taken);
    return predictor_jump(&predictor, BRANCH, taken ? 0x500000 : 0x500040);
}

static void what_repeats_is_foreseen(void **state)
{
    (void)state;
    expect(wrong(always), 0, 0);
    expect(wrong(counted), 0, 0.002);
    expect(wrong(asked_twice), 0, 0.02);
    expect(wrong(interpreter), 0, 0.002);
    expect(wrong(decided_before), 0, 0.05);
}

static void what_is_drawn_is_not(void **state)
{
    (void)state;
    expect(wrong(coin), 0.45, 0.55);
    expect(wrong(biased), 0.095, 0.2);
    expect(wrong(drawn_target), 0.7, 0.8);
}

/* What was never seen says nothing against a processor that has run for longer. */
static void the_first_time_is_foreseen(void **state)
{
    (void)state;
    begin();
    for (unsigned i = 0; i < 50; i++) {
        assert_false(predictor_branch(&predictor, BRANCH + 0x1f5 * i, i % 2));
        assert_false(predictor_jump(&predictor, OTHER + 0x1f5 * i, 0x500000 + 64 * i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_repeats_is_foreseen),
        cmocka_unit_test(what_is_drawn_is_not),
        cmocka_unit_test(the_first_time_is_foreseen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
