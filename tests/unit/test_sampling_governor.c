/* SPDX-License-Identifier: BSD-3-Clause */
/* The governor on simulated threads: what is spent, whatever bursts cost and however short threads
 * live. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampling/governor.h"
#include "sampling/sample.h"

/* ---- one thread ---- */

enum { FIRST_GUESS_NS = 250 * 1000 };

struct run {
    double budget;
    double seconds;
    uint64_t (*cost)(struct random *, uint64_t app_ns);
    uint64_t bytes_per_burst;
    /* what comes of it */
    uint64_t bursts, bytes, app_ns, longest_ns;
    double spent; /* share of application time */
};

static void govern(struct run *run)
{
    struct governor_process process;
    struct governor governor;
    struct random random;
    uint64_t end = (uint64_t)(run->seconds * 1e9);

    random_seed(&random, 1);
    governor_process_begin(&process, run->budget, 0, FIRST_GUESS_NS);
    governor_begin(&governor, &process);
    while (run->app_ns < end) {
        uint64_t period = governor_next_period(&governor, run->app_ns, run->bytes);

        run->longest_ns = period > run->longest_ns ? period : run->longest_ns;
        run->app_ns += sample_period(&random, period);
        governor_burst(&governor, run->app_ns);
        governor_spend(&governor, run->cost(&random, run->app_ns));
        run->bursts++;
        run->bytes += run->bytes_per_burst;
    }
    run->spent = (double)process.cost_ns / (double)run->app_ns;
}

static uint64_t constant_cost;

static uint64_t constant(struct random *random, uint64_t app_ns)
{
    (void)random;
    (void)app_ns;
    return constant_cost;
}

/* One in twenty is thirty times as dear. */
static uint64_t uneven(struct random *random, uint64_t app_ns)
{
    (void)app_ns;
    return random_below(random, 20) == 0 ? 6000000 : 200000;
}

/* Cheap and dear code in turns of two seconds. */
static uint64_t phases(struct random *random, uint64_t app_ns)
{
    (void)random;
    return app_ns / 2000000000 % 2 ? 900000 : 150000;
}

static void assert_spent(struct run *run)
{
    govern(run);
    if (run->spent < 0.9 * run->budget || run->spent > 1.1 * run->budget)
        fail_msg("spent %g of %g", run->spent, run->budget);
}

static void the_budget_is_spent_whatever_a_burst_costs(void **state)
{
    static const double budgets[] = {0.002, 0.01, 0.02, 0.04, 0.2};

    (void)state;
    for (unsigned i = 0; i < sizeof budgets / sizeof *budgets; i++)
        for (constant_cost = 50 * 1000; constant_cost <= 5000 * 1000; constant_cost *= 10) {
            struct run run = {.budget = budgets[i], .seconds = 100, .cost = constant};

            assert_spent(&run);
        }
    assert_spent(&(struct run){.budget = 0.02, .seconds = 100, .cost = uneven});
    assert_spent(&(struct run){.budget = 0.02, .seconds = 60, .cost = phases});
}

/* Three of four periods end while the kernel works for the thread, and give no signal. */
static void periods_without_a_signal_are_reckoned_with(void **state)
{
    struct governor_process process;
    struct governor governor;
    struct random random;
    uint64_t app = 0;
    double spent;

    (void)state;
    random_seed(&random, 4);
    governor_process_begin(&process, 0.02, 0, FIRST_GUESS_NS);
    governor_begin(&governor, &process);
    while (app < UINT64_C(100000000000)) {
        uint64_t period = sample_period(&random, governor_next_period(&governor, app, 0));

        do
            app += period;
        while (random_below(&random, 4) != 0);
        governor_burst(&governor, app);
        governor_spend(&governor, 400000);
    }
    spent = (double)process.cost_ns / (double)app;
    assert_true(spent > 0.018 && spent < 0.022);
}

static void dear_bursts_are_no_storm(void **state)
{
    (void)state;
    for (constant_cost = 10 * 1000 * 1000; constant_cost <= 1000 * 1000 * 1000;
         constant_cost *= 10) {
        struct run run = {.budget = 0.02, .seconds = 3000, .cost = constant};

        govern(&run);
        /* The first few came before it was known. */
        assert_true(run.spent < 1.1 * run.budget + 3 * (double)constant_cost / 3000e9);
    }
}

static void a_short_run_has_its_bursts(void **state)
{
    struct run run = {.budget = 0.02, .seconds = 1, .cost = constant};

    (void)state;
    constant_cost = 250 * 1000;
    govern(&run);
    /* 80 for 2 % of a second, and up to 12 more in advance. */
    assert_in_range(run.bursts, 76, 96);
}

/* Ten times as dear as expected: a run of 1.5 s takes its 30 ms, what it has in advance, and at
 * most three bursts more. */
static void what_bursts_cost_is_known_after_a_few(void **state)
{
    struct run run = {.budget = 0.02, .seconds = 1.5, .cost = constant};

    (void)state;
    constant_cost = 2500 * 1000;
    govern(&run);
    assert_true(run.spent * run.seconds < 0.030 + 0.004 + 0.0075);
    assert_in_range(run.bursts, 10, 17);
}

static void long_runs_are_held_by_their_bytes(void **state)
{
    struct run hour = {.budget = 0.02, .seconds = 3600, .cost = constant, .bytes_per_burst = 2000};
    struct run brief = {.budget = 0.02, .seconds = 30, .cost = constant, .bytes_per_burst = 2000};
    struct run day = {.budget = 0.02, .seconds = 86400, .cost = constant, .bytes_per_burst = 4000};

    (void)state;
    constant_cost = 250 * 1000;
    govern(&brief);
    assert_in_range(brief.bytes, 4000000, 6000000);
    govern(&hour);
    assert_in_range(hour.bytes, 2 * GOVERNOR_BYTES_FREE, GOVERNOR_BYTES_MAX);
    /* Though each burst is large, and as if 64 threads wrote into the file. */
    govern(&day);
    assert_in_range(day.bytes, 3 * GOVERNOR_BYTES_FREE, GOVERNOR_BYTES_MAX);
    day = (struct run){
        .budget = 0.02, .seconds = 86400, .cost = constant, .bytes_per_burst = UINT64_C(64) * 2000};
    govern(&day);
    /* The rare bursts that there are always are on top. */
    assert_true(day.bytes < 100 * 1000 * 1000);
}

static void a_fixed_period_is_kept_but_cannot_livelock(void **state)
{
    struct governor_process process;
    struct governor governor;

    (void)state;
    governor_process_begin(&process, 0.02, 1000000, FIRST_GUESS_NS);
    governor_begin(&governor, &process);
    assert_int_equal(governor_next_period(&governor, 0, 0), 1000000);
    for (int i = 0; i < 100; i++) {
        governor_burst(&governor, 0);
        governor_spend(&governor, 5000000);
    }
    assert_true(governor_next_period(&governor, 1000000, 0) >= 4000000);
    assert_true(governor_least_period(&governor) >= 4000000);
}

/* ---- many threads ---- */

struct swarm {
    uint64_t lives_ns;   /* each thread */
    uint64_t besides_ns; /* its beginning and end */
    unsigned together;   /* threads at a time */
    unsigned count;      /* in all */
    /* what comes of it */
    uint64_t bursts;
    double weight, app; /* of bursts; of threads */
    double spent;       /* share of application time, bursts only */
};

/* A thread from its start to its end. */
static void live(struct swarm *swarm, struct governor_process *process, struct random *random)
{
    struct governor governor;
    uint64_t app = 0, mean, next;

    governor_begin(&governor, process);
    governor_spend_besides(&governor, swarm->besides_ns);
    mean = governor_next_period(&governor, 0, 0);
    next = sample_first_period(random, mean, SAMPLE_FIRST_LEAST);
    while (app + next < swarm->lives_ns) {
        app += next;
        governor_burst(&governor, app);
        governor_spend(&governor, 300000);
        swarm->bursts++;
        swarm->weight += (double)mean;
        mean = governor_next_period(&governor, app, 0);
        next = sample_period(random, mean);
    }
    governor_end(&governor, swarm->lives_ns);
    swarm->app += (double)swarm->lives_ns;
}

static void live_all(struct swarm *swarm)
{
    struct governor_process process;
    struct random random;

    random_seed(&random, 3);
    governor_process_begin(&process, 0.02, 0, FIRST_GUESS_NS);
    for (unsigned i = 0; i < swarm->count; i++)
        live(swarm, &process, &random);
    swarm->spent = (double)process.cost_ns / swarm->app;
}

static void short_threads_cost_no_more_and_count_as_much(void **state)
{
    struct swarm swarm = {.lives_ns = 5000000, .count = 20000, .besides_ns = 20000};

    (void)state;
    live_all(&swarm);
    /* 2 % less the 0.4 % for beginning and ending. */
    assert_true(swarm.spent > 0.0144 && swarm.spent < 0.0176);
    /* What bursts stand for is what was run: within four standard errors, and the first 100 us,
     * which no burst begins in. */
    assert_true(swarm.weight > 0.86 * swarm.app && swarm.weight < 1.1 * swarm.app);
}

static void threads_that_are_dear_to_begin_are_sampled_still(void **state)
{
    struct swarm swarm = {.lives_ns = 1000000, .count = 50000, .besides_ns = 60000};

    (void)state;
    live_all(&swarm);
    assert_true(swarm.spent > 0.009 && swarm.spent < 0.011);
}

/* Threads that run at the same time, each for itself one after the other here. */
static void many_threads_at_once_stay_in_the_budget(void **state)
{
    enum { THREADS = 500 };
    static struct governor governors[THREADS];
    static uint64_t app[THREADS], next[THREADS];
    struct governor_process process;
    struct random random;
    uint64_t sum = 0;
    double spent;

    (void)state;
    random_seed(&random, 5);
    governor_process_begin(&process, 0.02, 0, FIRST_GUESS_NS);
    for (unsigned i = 0; i < THREADS; i++) {
        governor_begin(&governors[i], &process);
        next[i] = sample_first_period(&random, governor_next_period(&governors[i], 0, 0),
                                      SAMPLE_FIRST_LEAST);
    }
    /* In time slices of 4 ms, for 200 ms of each. */
    for (uint64_t slice = 1; slice <= 50; slice++)
        for (unsigned i = 0; i < THREADS; i++)
            while (next[i] <= slice * 4000000) {
                app[i] = next[i];
                governor_burst(&governors[i], app[i]);
                governor_spend(&governors[i], 400000);
                next[i] += sample_period(&random, governor_next_period(&governors[i], app[i], 0));
            }
    for (unsigned i = 0; i < THREADS; i++)
        sum += 200000000;
    spent = (double)process.cost_ns / (double)sum;
    assert_true(spent > 0.018 && spent < 0.022);
}

/* exec may fail: the thread goes on and ends a second time. */
static void a_thread_that_ends_twice_is_counted_once(void **state)
{
    struct governor_process process;
    struct governor first, other;

    (void)state;
    governor_process_begin(&process, 0.02, 0, FIRST_GUESS_NS);
    governor_begin(&first, &process);
    governor_begin(&other, &process);
    governor_end(&first, 1000000);
    governor_end(&first, 3000000);
    assert_int_equal(atomic_load(&process.threads), 1);
    assert_int_equal(atomic_load(&process.app_ns), 3000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_ends_twice_is_counted_once),
        cmocka_unit_test(the_budget_is_spent_whatever_a_burst_costs),
        cmocka_unit_test(periods_without_a_signal_are_reckoned_with),
        cmocka_unit_test(dear_bursts_are_no_storm),
        cmocka_unit_test(a_short_run_has_its_bursts),
        cmocka_unit_test(what_bursts_cost_is_known_after_a_few),
        cmocka_unit_test(long_runs_are_held_by_their_bytes),
        cmocka_unit_test(a_fixed_period_is_kept_but_cannot_livelock),
        cmocka_unit_test(short_threads_cost_no_more_and_count_as_much),
        cmocka_unit_test(threads_that_are_dear_to_begin_are_sampled_still),
        cmocka_unit_test(many_threads_at_once_stay_in_the_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
