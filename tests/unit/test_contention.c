/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that use one line in no order: closed forms against counted random interleavings. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/communication/contention.h"
#include "sampling/random.h"

enum { THREADS_MAX = 5, EVENTS = 400000 };

/* How often a thread comes, and what it does then: reads, modifies in one instruction, or loads and
 * then stores. */
enum deed { READS, MODIFIES, LOADS_AND_STORES };
struct actor {
    double rate;
    enum deed deed;
};

struct counts {
    double raw, waw, war;
};

/* Infinite caches, one per thread, write-invalidate: by the definitions, event by event. */
struct line {
    bool holds[THREADS_MAX];
    int writer;
};

static void load(struct line *line, int thread, struct counts *counts)
{
    if (!line->holds[thread] && line->writer >= 0 && line->writer != thread)
        counts->raw++;
    line->holds[thread] = true;
}

static void store(struct line *line, int thread, struct counts *counts)
{
    for (int h = 0; h < THREADS_MAX; h++) {
        if (h == thread || !line->holds[h])
            continue;
        counts->waw += h == line->writer;
        counts->war += h != line->writer;
        line->holds[h] = false;
    }
    line->holds[thread] = true;
    line->writer = thread;
}

static struct counts interleave(const struct actor *actors, int n)
{
    struct counts counts = {0};
    struct line line = {.writer = -1};
    struct random random;
    double all = 0;

    random_seed(&random, 7);
    for (int i = 0; i < n; i++)
        all += actors[i].rate;
    for (int event = 0; event < EVENTS; event++) {
        double place = (double)(random_next(&random) >> 11) * 0x1p-53 * all;
        int thread = 0;

        while (thread + 1 < n && place >= actors[thread].rate)
            place -= actors[thread++].rate;
        if (actors[thread].deed != MODIFIES)
            load(&line, thread, &counts);
        if (actors[thread].deed != READS)
            store(&line, thread, &counts);
    }
    return counts;
}

/* The same from rates, for as many events. */
static struct counts expect(const struct actor *actors, int n)
{
    struct line_user others[THREADS_MAX];
    struct counts counts = {0};
    double all = 0;

    for (int i = 0; i < n; i++)
        all += actors[i].rate;
    for (int owner = 0; owner < n; owner++) {
        double stores = EVENTS * actors[owner].rate / all, gap = 1 / actors[owner].rate;
        size_t count = 0;

        if (actors[owner].deed == READS)
            continue;
        for (int i = 0; i < n; i++)
            if (i != owner)
                others[count++] =
                    (struct line_user){.loads = actors[i].deed != MODIFIES ? actors[i].rate : 0,
                                       .stores = actors[i].deed != READS ? actors[i].rate : 0};
        counts.waw += stores * contention_gap(others, count, gap).ends;
        for (size_t i = 0; i < count; i++) {
            counts.raw += stores * contention_reads(others, count, i, gap);
            counts.war += stores * contention_taken(others, count, i, gap);
            for (size_t k = 0; k < count; k++)
                counts.war += stores * contention_taken_by(others, count, i, k, gap);
        }
    }
    return counts;
}

static void assert_near(double value, double truth)
{
    assert_true(fabs(value - truth) <= 0.01 * truth + 4 * sqrt(truth) + 1);
}

static void compare(const struct actor *actors, int n)
{
    struct counts counted = interleave(actors, n), expected = expect(actors, n);

    assert_near(expected.raw, counted.raw);
    assert_near(expected.waw, counted.waw);
    assert_near(expected.war, counted.war);
}

static void counters_in_a_line(void **state)
{
    (void)state;
    compare((struct actor[]){{1, MODIFIES}, {1, MODIFIES}}, 2);
    compare((struct actor[]){{1, MODIFIES}, {9, MODIFIES}}, 2);
    compare((struct actor[]){{1, MODIFIES}, {2, MODIFIES}, {5, MODIFIES}}, 3);
    compare((struct actor[]){{1, MODIFIES}, {1, MODIFIES}, {1, MODIFIES}, {1, MODIFIES}}, 4);
}

static void loads_come_before_stores(void **state)
{
    (void)state;
    compare((struct actor[]){{1, LOADS_AND_STORES}, {3, LOADS_AND_STORES}}, 2);
    compare((struct actor[]){{1, LOADS_AND_STORES}, {3, LOADS_AND_STORES}, {1, LOADS_AND_STORES}},
            3);
}

static void readers_of_what_others_count(void **state)
{
    (void)state;
    compare((struct actor[]){{1, MODIFIES}, {1, READS}}, 2);
    compare((struct actor[]){{1, MODIFIES}, {50, READS}, {.1, READS}}, 3);
    compare((struct actor[]){{1, MODIFIES}, {4, MODIFIES}, {2, READS}, {7, READS}}, 4);
}

static void two_writers_alternate_as_their_rates_say(void **state)
{
    const double a = 3, b = 5;
    struct line_user one = {.stores = b}, other = {.stores = a};
    double alternations =
        a * contention_gap(&one, 1, 1 / a).ends + b * contention_gap(&other, 1, 1 / b).ends;

    (void)state;
    assert_true(fabs(alternations - 2 * a * b / (a + b)) < 1e-9);
    /* Strictly by turns: as often as the slower one comes. */
    assert_true(fabs(a * contention_most(&one, 1, 1 / a) - a) < 1e-9);
    assert_true(fabs(b * contention_most(&other, 1, 1 / b) - a) < 1e-9);
}

static void watches_tell_of_overlap(void **state)
{
    struct estimate nothing = contention_overlap(0, 0), never = contention_overlap(0, 50);
    struct estimate half = contention_overlap(50, 100), always = contention_overlap(60, 60);

    (void)state;
    assert_true(nothing.value == 1 && nothing.lo == 0 && nothing.hi == 1);
    assert_true(never.lo == 0 && never.value < .02 && never.hi > .03 && never.hi < .1);
    /* Wilson, from tables: 50 of 100 is 0.404 to 0.596. */
    assert_true(fabs(half.lo - .404) < .001 && fabs(half.hi - .596) < .001);
    assert_true(fabs(half.value - .5) < .01);
    assert_true(always.value > .99 && always.lo > .9 && always.hi > .999);
    /* More than expected: the rates of the others were low. */
    assert_true(contention_overlap(20, 10).value == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_in_a_line),
        cmocka_unit_test(loads_come_before_stores),
        cmocka_unit_test(readers_of_what_others_count),
        cmocka_unit_test(two_writers_alternate_as_their_rates_say),
        cmocka_unit_test(watches_tell_of_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
