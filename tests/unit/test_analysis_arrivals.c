/* SPDX-License-Identifier: BSD-3-Clause */
/* Who comes back to the lines that bursts leave open, against traces in which that is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/curves/arrivals.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { GROUPS = 512 };

static uint32_t arrived(const struct arrival_group *groups, const struct arrival_piece *pieces,
                        size_t count, uint64_t left_by, uint64_t arrives_at)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < count; i++)
        if (groups[pieces[i].left_by].ip == left_by &&
            groups[pieces[i].arrives_at].ip == arrives_at)
            sum += pieces[i].count;
    return sum;
}

/* Probes that arrive at accesses like those of each group. */
static void assert_arrived_at(const struct arrival_group *groups, size_t groups_count,
                              const uint32_t *expected)
{
    struct arrival_piece pieces[3 * GROUPS];
    uint32_t at[GROUPS] = {0};
    size_t count = arrivals_find(groups, groups_count, pieces);

    for (size_t i = 0; i < count; i++)
        at[pieces[i].arrives_at] += pieces[i].count;
    for (size_t g = 0; g < groups_count; g++)
        assert_int_equal(at[g], expected[g]);
}

/* A structure is read at 1, then at 2 and 3; its line is left by 3. */
static void the_first_access_to_a_line_misses(void **state)
{
    const struct arrival_group groups[] = {
        {.ip = 1, .next_ip = 2, .object = 7, .count = 100},
        {.ip = 2, .next_ip = 3, .object = 7, .count = 100},
        {.ip = 3, .next_ip = 0, .object = 7, .count = 100},
    };
    struct arrival_piece pieces[9];
    size_t count = arrivals_find(groups, 3, pieces);

    (void)state;
    assert_int_equal(count, 3);
    assert_int_equal(arrived(groups, pieces, count, 1, 2), 100);
    assert_int_equal(arrived(groups, pieces, count, 2, 3), 100);
    assert_int_equal(arrived(groups, pieces, count, 3, 1), 100);
}

/* 1 streams through one object; 2 and 3 use another, in which 4 comes first to half of the lines.
 */
static void objects_are_balanced_apart(void **state)
{
    const struct arrival_group groups[] = {
        {.ip = 1, .next_ip = 0, .object = 1, .count = 60},
        {.ip = 2, .next_ip = 3, .object = 2, .count = 20},
        {.ip = 3, .next_ip = 0, .object = 2, .count = 40},
        {.ip = 4, .next_ip = 3, .object = 2, .count = 20},
    };
    struct arrival_piece pieces[12];
    size_t count = arrivals_find(groups, 4, pieces);

    (void)state;
    assert_int_equal(arrived(groups, pieces, count, 1, 1), 60);
    assert_int_equal(arrived(groups, pieces, count, 3, 2), 20);
    assert_int_equal(arrived(groups, pieces, count, 3, 4), 20);
    assert_int_equal(arrived(groups, pieces, count, 3, 3), 0);
}

/* The instruction is on two paths, and another one comes before it on one of them. */
static void paths_are_told_apart(void **state)
{
    const struct arrival_group groups[] = {
        {.ip = 1, .next_ip = 2, .path = 5, .object = 1, .count = 30},
        {.ip = 2, .next_ip = 0, .path = 5, .object = 1, .count = 30},
        {.ip = 2, .next_ip = 0, .path = 6, .object = 1, .count = 50},
    };

    (void)state;
    assert_arrived_at(groups, 3, (const uint32_t[]){30, 30, 50});
}

/* hits++: one instruction loads and stores. Both are met as often as they are made. */
static void a_load_and_a_store_of_one_instruction_both_arrive(void **state)
{
    const struct arrival_group groups[] = {
        {.ip = 1, .next_ip = 5, .object = 1, .count = 30},
        {.ip = 5, .next_ip = 5, .object = 1, .count = 30},
        {.ip = 5, .next_ip = 0, .object = 1, .count = 30},
    };

    (void)state;
    assert_arrived_at(groups, 3, (const uint32_t[]){30, 30, 30});
}

/* Ten instructions are off by two each, for their loop was met in the middle of a turn. */
static void what_the_ends_of_a_burst_leave_over_is_chance(void **state)
{
    struct arrival_group groups[12];
    struct arrival_piece pieces[36];
    size_t count;

    (void)state;
    for (unsigned i = 0; i < 10; i++)
        groups[i] = (struct arrival_group){.ip = 100 + i,
                                           .next_ip = i < 9 ? 101 + i : 100,
                                           .object = 1,
                                           .count = 40 + 2 * (i % 2)};
    groups[10] = (struct arrival_group){.ip = 1, .next_ip = 2, .object = 1, .count = 30};
    groups[11] = (struct arrival_group){.ip = 2, .next_ip = 0, .object = 1, .count = 30};
    count = arrivals_find(groups, 12, pieces);
    assert_in_range(arrived(groups, pieces, count, 2, 1), 25, 30);
}

/* The next user is not among the probes: the group stays where it is. */
static void an_unknown_user_changes_nothing(void **state)
{
    const struct arrival_group group = {.ip = 1, .next_ip = 9, .object = 1, .count = 3};
    struct arrival_piece pieces[3];

    (void)state;
    assert_int_equal(arrivals_find(NULL, 0, pieces), 0);
    assert_int_equal(arrivals_find(&group, 1, pieces), 1);
    assert_int_equal(pieces[0].arrives_at, 0);
    assert_int_equal(pieces[0].count, 3);
}

/*
 * Records of 4 lines each, visited in random order; of one in three only the first half. In each,
 * one instruction comes to its line first, and others go on there. Bursts at random places.
 */
enum { ACCESSES = 400000, BURST = 4096, RECORDS = 4000, INSTRUCTIONS = 16 };

struct traced {
    uint64_t ip;
    uint32_t line;
};

static size_t make_trace(struct random *random, struct traced *trace)
{
    size_t n = 0;

    while (n + 32 < ACCESSES) {
        uint32_t record = (uint32_t)random_below(random, RECORDS),
                 lines = random_below(random, 3) ? 4 : 2;

        for (uint32_t line = 0; line < lines; line++)
            for (uint32_t use = 0; use < 1 + line; use++)
                trace[n++] = (struct traced){1 + 4 * line + use, 4 * record + line};
    }
    return n;
}

static size_t group_burst(const struct traced *burst, struct arrival_group *groups)
{
    size_t count = 0;

    for (unsigned i = 0; i < BURST / 2; i++) {
        struct arrival_group group = {.ip = burst[i].ip, .object = 1};
        size_t at = 0;

        for (unsigned k = i + 1; k < BURST && !group.next_ip; k++)
            group.next_ip = burst[k].line == burst[i].line ? burst[k].ip : 0;
        while (at < count && (groups[at].ip != group.ip || groups[at].next_ip != group.next_ip))
            at++;
        if (at == count)
            groups[count++] = group;
        groups[at].count++;
    }
    return count;
}

/* Uses in the first half of lines that were not used in half a burst before. */
static void count_first_uses(const struct traced *burst, double *first)
{
    for (unsigned i = 0; i < BURST / 2; i++) {
        bool used = false;

        for (unsigned k = 1; k <= BURST / 2 + BURST / 4 && !used; k++)
            used = burst[(int)i - (int)k].line == burst[i].line;
        first[burst[i].ip] += !used;
    }
}

static void sums_are_those_of_a_trace(void **state)
{
    struct traced *trace = malloc(ACCESSES * sizeof *trace);
    struct arrival_group *groups = calloc(GROUPS, sizeof *groups);
    struct arrival_piece *pieces = calloc(3 * GROUPS, sizeof *pieces);
    double first[INSTRUCTIONS + 1] = {0}, found[INSTRUCTIONS + 1] = {0};
    struct random random;
    size_t n;

    (void)state;
    random_seed(&random, test_seed());
    n = make_trace(&random, trace);
    for (unsigned b = 0; b < 60; b++) {
        const struct traced *burst = trace + BURST + random_below(&random, n - 2 * BURST);
        size_t count, groups_count;

        memset(groups, 0, GROUPS * sizeof *groups);
        groups_count = group_burst(burst, groups);
        count = arrivals_find(groups, groups_count, pieces);
        count_first_uses(burst, first);
        for (size_t i = 0; i < count; i++)
            if (groups[pieces[i].left_by].next_ip == 0)
                found[groups[pieces[i].arrives_at].ip] += pieces[i].count;
    }
    for (unsigned ip = 1; ip <= INSTRUCTIONS; ip++)
        assert_true(found[ip] > 0.9 * first[ip] - 60 && found[ip] < 1.1 * first[ip] + 60);
    free(pieces);
    free(groups);
    free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_access_to_a_line_misses),
        cmocka_unit_test(objects_are_balanced_apart),
        cmocka_unit_test(paths_are_told_apart),
        cmocka_unit_test(a_load_and_a_store_of_one_instruction_both_arrive),
        cmocka_unit_test(what_the_ends_of_a_burst_leave_over_is_chance),
        cmocka_unit_test(an_unknown_user_changes_nothing),
        cmocka_unit_test(sums_are_those_of_a_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
