/* SPDX-License-Identifier: BSD-3-Clause */
/* Which access of a burst is its sample for communication: what is preferred, and that weights make
 * up for it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/communication_draw.h"
#include "sampling/line_visit.h"
#include "sampling/line_watch.h"
#include "sampling/watch_design.h"

enum { ACCESSES = 6000, PROBES = 4000, LINE = 64 };

/* A window of few lines that moves on slowly: many words are stored to again and again. */
static void make(struct access accesses[ACCESSES], struct random *random)
{
    static const uint8_t kinds[] = {ACCESS_LOAD, ACCESS_STORE, ACCESS_LOAD | ACCESS_STORE};

    for (uint32_t i = 0; i < ACCESSES; i++)
        accesses[i] =
            (struct access){.ip = 0x1000 + i,
                            .address = 0x100000 + (i / 100 + random_below(random, 3)) * LINE +
                                       random_below(random, LINE),
                            .width = 1,
                            .kind = kinds[random_below(random, 3)]};
}

static bool stores_to(const struct access *access, uint64_t block, uint64_t size)
{
    return access->kind & ACCESS_STORE && access->address / size == block;
}

/* By the definition, one after the other. */
static void find_slowly(const struct access *accesses, struct store_list *out)
{
    out->count = 0;
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t before = 0, after = 0;

        for (uint32_t k = 0; k < i; k++)
            before += stores_to(&accesses[k], accesses[i].address / WATCH_WORD, WATCH_WORD);
        for (uint32_t k = i + 1; k <= i + OWN_VISIT_ACCESSES && k < ACCESSES; k++)
            after += stores_to(&accesses[k], accesses[i].address / LINE, LINE);
        if (accesses[i].kind == ACCESS_STORE && after == 0 && before <= LINE_WATCH_AHEAD_MAX)
            out->index[out->count++] = (uint16_t)i;
    }
}

static void assert_same(const struct store_list *x, const struct store_list *y)
{
    assert_int_equal(x->count, y->count);
    assert_memory_equal(x->index, y->index, x->count * sizeof x->index[0]);
}

static void test_last_stores_are_those_not_repeated_soon(void **state)
{
    static struct access accesses[ACCESSES];
    struct store_list found, expected;
    struct random random;
    uint32_t all = 0;

    (void)state;
    random_seed(&random, 3);
    for (unsigned round = 0; round < 50; round++) {
        make(accesses, &random);
        find_slowly(accesses, &expected);
        last_stores_find(accesses, PROBES, ACCESSES, LINE, &found);
        assert_same(&found, &expected);
        all += found.count;
    }
    /* Of 40 lines a round some are stored to last by a plain store, and not too often. */
    assert_true(all > 50 * 5 && all < 50 * 35);
}

/* Of a line that is filled word by word it is the last word; of many lines, as many as there is
 * room for. */
static void test_a_sweep_has_one_in_eight(void **state)
{
    static struct access accesses[8 * (STORE_LIST_MAX + 100)];
    enum { COUNT = sizeof accesses / sizeof *accesses };
    struct store_list found;

    (void)state;
    for (uint32_t i = 0; i < COUNT; i++)
        accesses[i] = (struct access){.address = 8 * i, .width = 8, .kind = ACCESS_STORE};
    last_stores_find(accesses, 800, COUNT, LINE, &found);
    assert_int_equal(found.count, 100);
    for (uint32_t i = 0; i < found.count; i++)
        assert_int_equal(found.index[i], 8 * i + 7);
    last_stores_find(accesses, COUNT, COUNT, LINE, &found);
    assert_int_equal(found.count, STORE_LIST_MAX);
    for (uint32_t i = 0; i < found.count; i++)
        assert_int_equal(found.index[i], 8 * (i + 100) + 7);
}

static void test_common_stores(void **state)
{
    const struct store_list x = {.count = 5, .index = {2, 5, 7, 9, 30}};
    const struct store_list y = {.count = 4, .index = {1, 5, 9, 31}};
    const struct store_list expected = {.count = 2, .index = {5, 9}};
    const struct store_list none = {.count = 0};
    struct store_list found;

    (void)state;
    store_list_common(&x, &y, &found);
    assert_same(&found, &expected);
    store_list_common(&y, &x, &found);
    assert_same(&found, &expected);
    store_list_common(&x, &none, &found);
    assert_int_equal(found.count, 0);
}

/* Whatever is preferred, each access stands for one of n on average. */
static void test_weights_make_up_for_the_preference(void **state)
{
    enum { DRAWS = 400000, N = 64, LISTS = 4 };
    const struct store_list lists[LISTS] = {{.count = 3, .index = {5, 17, 40}},
                                            {.count = 2, .index = {17, 50}},
                                            {.count = 0},
                                            {.count = 1, .index = {17}}};
    double sum[N] = {0};
    struct random random;
    unsigned drawn[N] = {0};

    (void)state;
    random_seed(&random, 11);
    for (int i = 0; i < DRAWS; i++) {
        double factor;
        uint32_t index =
            communication_draw(lists, LISTS, N, random_below(&random, N), &random, &factor);

        sum[index] += factor;
        drawn[index]++;
        assert_true(factor <= 2);
    }
    /* Each of three lists is drawn from once in six. */
    assert_true(drawn[17] > DRAWS / 6. * (1 + 1 / 2. + 1 / 3.));
    assert_true(drawn[50] > DRAWS / 6. / 2 && drawn[5] > DRAWS / 6. / 3);
    for (unsigned i = 0; i < N; i++)
        assert_true(fabs(sum[i] * N / DRAWS - 1) < 0.1);
}

static void test_without_lists_nothing_changes(void **state)
{
    const struct store_list none[2] = {{.count = 0}, {.count = 0}};
    struct random random;
    double factor;

    (void)state;
    random_seed(&random, 1);
    assert_int_equal(communication_draw(none, 2, 64, 33, &random, &factor), 33);
    assert_float_equal(factor, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_stores_are_those_not_repeated_soon),
        cmocka_unit_test(test_a_sweep_has_one_in_eight),
        cmocka_unit_test(test_common_stores),
        cmocka_unit_test(test_weights_make_up_for_the_preference),
        cmocka_unit_test(test_without_lists_nothing_changes),
    };
    return cmocka_run_group_tests_name("sampling/communication_draw", tests, NULL, NULL);
}
