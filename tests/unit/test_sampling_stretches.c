/* SPDX-License-Identifier: BSD-3-Clause */
/* What a short and a long stretch of time say of the pace of a program. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampling/random.h"
#include "sampling/stretches.h"

/* As a machine makes them: a pace, a loss at the beginning, and ends that scatter. */
struct machine {
    double ns_per_visit, loss, scatter;
    struct random random;
};

/* About normal: a sum of uniform values. */
static double scattered(struct machine *machine)
{
    double sum = 0;

    for (unsigned i = 0; i < 12; i++)
        sum += (double)random_below(&machine->random, 1 << 20) / (1 << 20);
    return machine->scatter * (sum - 6);
}

static struct stretch run(struct machine *machine, double visits)
{
    return (struct stretch){visits,
                            machine->loss + machine->ns_per_visit * visits + scattered(machine)};
}

static void difference_is_free_of_the_loss(void **state)
{
    (void)state;
    for (double loss = -8000; loss <= 8000; loss += 4000) {
        struct machine machine = {.ns_per_visit = 4, .loss = loss};

        assert_float_equal(stretches_ns_per_visit(run(&machine, 3000), run(&machine, 9000)), 4,
                           1e-9);
    }
    assert_float_equal(stretch_loss((struct stretch){9, 90}, (struct stretch){19, 80}), 90, 1e-9);
    assert_true(stretches_ns_per_visit((struct stretch){9, 9}, (struct stretch){9, 90}) <= 0);
    assert_true(stretches_ns_per_visit((struct stretch){9, 90}, (struct stretch){19, 80}) <= 0);
}

/* Many pairs whose ends scatter have the right mean, of both. */
static void scattered_pairs_have_the_right_mean(void **state)
{
    enum { PAIRS = 4000 };
    struct machine machine = {.ns_per_visit = 1, .loss = 6000, .scatter = 1000};
    double pace = 0, loss = 0;

    (void)state;
    random_seed(&machine.random, 7);
    for (unsigned i = 0; i < PAIRS; i++) {
        struct stretch brief = run(&machine, 10000), lengthy = run(&machine, 30000);

        pace += stretches_ns_per_visit(brief, lengthy) / PAIRS;
        loss += stretch_loss(brief, lengthy) / PAIRS;
    }
    assert_float_equal(pace, 1, 0.005);
    assert_float_equal(loss, 6000, 100);
}

static void what_moves_unlike_time_is_not_plausible(void **state)
{
    (void)state;
    /* 1000 visits at 10 ns */
    assert_true(stretch_is_plausible((struct stretch){1000, 10000}, 10, 3, 1.4, 0));
    assert_true(stretch_is_plausible((struct stretch){1000, 29000}, 10, 3, 1.4, 0));
    assert_false(stretch_is_plausible((struct stretch){1000, 31000}, 10, 3, 1.4, 0));
    assert_true(stretch_is_plausible((struct stretch){1000, 31000}, 10, 3, 1.4, 2000));
    assert_false(stretch_is_plausible((struct stretch){1000, 7000}, 10, 3, 1.4, 0));
    assert_true(stretch_is_plausible((struct stretch){1000, 7000}, 10, 3, 1.4, 200));
    /* set back */
    assert_false(stretch_is_plausible((struct stretch){-1000, 10000}, 10, 3, 1.4, 1e9));
    assert_false(stretch_is_plausible((struct stretch){0, 10000}, 10, 3, 1.4, 1e9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(difference_is_free_of_the_loss),
        cmocka_unit_test(scattered_pairs_have_the_right_mean),
        cmocka_unit_test(what_moves_unlike_time_is_not_plausible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
