/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of CPU time and their intervals, from bursts that are made up: this file stands in for the
 * analysis. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/findings/burst_time.h"
#include "report/findings/modelled_pace.h"

enum { BURSTS = 20, PROBES = 2, COMMON = 0, SELDOM = 1 };

/* Each burst has 1000 accesses of the common part, and the first two 10 of the other. */
static struct {
    struct analysed_probe probes[BURSTS * PROBES];
    struct record_burst burst;
    size_t count;
    double rate, held;
} run;

const struct analysed_probe *analysis_probe(const struct analysis *analysis, size_t index,
                                            size_t *profile)
{
    (void)analysis;
    if (profile != NULL)
        *profile = 0;
    return &run.probes[index];
}

const struct record_burst *analysis_probe_burst(const struct analysis *analysis, size_t index)
{
    (void)analysis;
    (void)index;
    return &run.burst;
}

double analysis_probe_time(const struct analysis *analysis, size_t index, double *own)
{
    (void)analysis;
    (void)index;
    *own = 1;
    return 1e6;
}

double analysis_probe_rate(const struct analysis *analysis, size_t index)
{
    (void)analysis;
    (void)index;
    return run.rate;
}

double modelled_held_ns(const struct model *model, size_t observation)
{
    (void)model;
    (void)observation;
    return run.held;
}

double analysis_probe_weight(const struct analysis *analysis, size_t index)
{
    (void)analysis;
    return run.probes[index].count;
}

double analysis_probe_object_weight(const struct analysis *analysis, size_t index)
{
    return analysis_probe_weight(analysis, index);
}

const struct record_histogram *analysis_histogram(const struct analysis *analysis, size_t index,
                                                  size_t *profile)
{
    (void)analysis;
    (void)index;
    (void)profile;
    return NULL;
}

bool model_looks_at(const struct model *model, const struct profile *profile, uint32_t thread_id)
{
    (void)model;
    (void)profile;
    (void)thread_id;
    return true;
}

struct code_line model_own_line(struct model *model, size_t profile, uint64_t ip,
                                uint32_t context_id, uint64_t monotonic_ns)
{
    (void)model;
    (void)profile;
    (void)ip;
    (void)context_id;
    (void)monotonic_ns;
    return (struct code_line){.function = NULL};
}

const struct record_context *profile_context(const struct profile *profile, uint32_t id)
{
    (void)profile;
    (void)id;
    return NULL;
}

static struct estimate shares_of(struct time_part *parts, double rate, double held)
{
    uint32_t labels[BURSTS * PROBES];
    struct model model = {.profile_count = 0};

    run.rate = rate;
    run.held = held;
    run.count = 0;
    for (uint32_t burst = 0; burst < BURSTS; burst++)
        for (uint32_t part = COMMON; part <= (burst < 2 ? SELDOM : COMMON); part++) {
            run.probes[run.count] =
                (struct analysed_probe){.burst = burst, .count = part == COMMON ? 1000 : 10};
            labels[run.count++] = part;
        }
    model.observations = run.count;
    return burst_time_shares(&model, labels, parts, PROBES, 0.5, false, NULL);
}

/* Costs that are known leave the spread between bursts, which is none where they are alike. */
static void test_known_costs(void **state)
{
    struct time_part parts[PROBES] = {[COMMON] = {.cost_ns = {0.5, 0.5, 0.5}}};
    struct estimate all = shares_of(parts, 0, 0);

    (void)state;
    assert_float_equal(parts[COMMON].share.value, (18 * 0.5 + 2 * 500 / 1005.) / 20, 1e-6);
    assert_float_equal(all.value, parts[COMMON].share.value, 1e-6);
    assert_true(all.hi - all.lo < 0.01);
    assert_int_equal(parts[COMMON].bursts, BURSTS);
    assert_int_equal(parts[SELDOM].bursts, 0);
}

/* Whether the part misses is not known. Its bursts are a tenth, so it takes no more than that. */
static void test_part_of_few_bursts(void **state)
{
    struct time_part parts[PROBES] = {
        [COMMON] = {.cost_ns = {0.02, 0.02, 0.02}}, [SELDOM] = {.cost_ns = {0.001, 0, 100}}};
    struct estimate all = shares_of(parts, 0, 0);

    (void)state;
    /* 1000 ns beside the 505 that hits take, and the 20 of the other. */
    assert_true(parts[SELDOM].share.hi > 0.1 * 1000 / (1000 + 505 + 20) - 1e-4);
    assert_true(parts[SELDOM].share.hi < 0.1);
    assert_true(all.hi < 20 / 520. + 0.1);
}

/* The bursts took 1 ns an access, and half of it with all lines in the first cache: of the other
 * half, and some for what the model may be off by, misses are at most. */
static void test_measured_pace_bounds_costs(void **state)
{
    struct time_part free[PROBES] = {[COMMON] = {.cost_ns = {0.05, 0, 50}}};
    struct time_part bound[PROBES] = {[COMMON] = {.cost_ns = {0.05, 0, 50}}};
    struct estimate unbound = shares_of(free, 0, 0), all = shares_of(bound, 1, 0.5);

    (void)state;
    assert_true(unbound.hi > 0.95);
    assert_true(all.hi >= 0.5 && all.hi < 0.75);
    assert_true(bound[COMMON].share.hi >= 0.5 && bound[COMMON].share.hi < 0.75);
    assert_true(bound[COMMON].share.lo < 0.01);
}

/* Ten ns an access, half a ns with all lines at hand. If misses take as little as can be, and that
 * three times, they take 3 of the ten. */
static void test_measured_pace_bounds_costs_from_below(void **state)
{
    struct time_part parts[PROBES] = {[COMMON] = {.cost_ns = {4, 1, 8}}};
    struct estimate all = shares_of(parts, 0.1, 0.5);

    (void)state;
    assert_true(parts[COMMON].share.value > 0.9);
    assert_true(parts[COMMON].share.lo > 0.25 && parts[COMMON].share.lo <= 0.31);
    assert_true(all.lo > 0.25 && all.lo <= 0.31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_costs),
        cmocka_unit_test(test_part_of_few_bursts),
        cmocka_unit_test(test_measured_pace_bounds_costs),
        cmocka_unit_test(test_measured_pace_bounds_costs_from_below),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
