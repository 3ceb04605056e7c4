/* SPDX-License-Identifier: BSD-3-Clause */
/* Access rates from variables that move on, against programs whose rates are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/rates/progress_rates.h"
#include "analysis/rates/variable_pace.h"
#include "sampling/random.h"
#include "support/profile_builder.h"

enum { BURST = 4096, BURSTS = 60 };

static const double period_ns = 20e6;

/* Code of one kind makes `rate` accesses per ns; its variable takes a step every `visit` accesses
 * in the mean, and is set back after so many (0: never). */
struct code {
    double rate, visit, wraps;
};

static double uniform(struct random *random)
{
    return ((double)(random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct random *random)
{
    return sqrt(-2 * log(uniform(random))) * cos(2 * M_PI * uniform(random));
}

/* Steps made in so many accesses: a Poisson process, in large numbers a normal one. */
static double steps(const struct code *code, struct random *random, double accesses)
{
    double n = accesses / code->visit, left = exp(-n), count = 0;

    if (n > 50)
        return floor(n + sqrt(n) * normal(random) + uniform(random));
    for (double product = uniform(random); product > left; product *= uniform(random))
        count++;
    return count;
}

static double moved(const struct code *code, double *position, double by)
{
    double from = *position;

    *position += by;
    if (code->wraps > 0)
        *position = fmod(*position, code->wraps);
    return *position - from;
}

/* A program whose time is shared equally by n kinds of code; each burst is in one at random, and so
 * is the time before it. One variable moves in all of them. */
struct program {
    const struct code *code;
    size_t n;
    bool word; /* else a register */
};

static void write_program(struct profile_builder *builder, uint32_t thread,
                          const struct program *program, uint64_t place, uint64_t seed)
{
    struct random random;
    double position = 0;

    random_seed(&random, seed);
    for (int b = 0; b < BURSTS; b++) {
        size_t kind = random_below(&random, (uint32_t)program->n);
        const struct code *code = &program->code[kind];
        double since = 0, before_ns = 62.5e3 * pow(2, random_below(&random, 5));
        struct progress_variable variable = {
            .place = program->word ? place : 0,
            .kind = program->word ? PROGRESS_WORD : PROGRESS_REGISTER,
            .width = program->word ? 8 : (uint8_t)place,
            .flags = PROGRESS_BEFORE | (program->word ? PROGRESS_SINCE : 0),
            .accesses = BURST,
        };

        for (size_t k = 0; k < program->n; k++)
            since += moved(&program->code[k], &position,
                           steps(&program->code[k], &random,
                                 program->code[k].rate * period_ns / (double)program->n));
        variable.before = moved(code, &position, steps(code, &random, code->rate * before_ns));
        variable.since = since + variable.before;
        variable.within = steps(code, &random, BURST);
        profile_builder_variable(builder,
                                 (struct record_progress){
                                     .thread_id = thread,
                                     .loop = 0x10000 * (kind + 1),
                                     .app_ns = 1000000 + 20000000 * (uint64_t)b,
                                     .since_ns = b ? (uint64_t)(period_ns + before_ns) : 0,
                                     .before_ns = (uint64_t)(before_ns + LOOK_LOSS_NS),
                                 },
                                 &variable);
    }
}

/* Nothing is known of the code: a program may be off by a factor of ten, its loops by more. */
static void know_nothing(struct rate_evidence *evidence)
{
    evidence->common_variance = log(10) / 1.96 * log(10) / 1.96;
    for (uint32_t i = 0; i < evidence->groups; i++)
        evidence->own_variance[i] = 0.36;
}

struct rates {
    struct rate_fit fit;
    struct rate_evidence evidence;
};

/* The rates of the groups 0, 1, ... of the kinds of code, by programs that share them. */
static struct rates rates_of(const struct program *programs, size_t n, uint64_t seed)
{
    char path[] = "/tmp/reuse-progress-XXXXXX";
    struct profile_builder builder;
    struct rates rates = {.evidence = {.groups = (uint32_t)programs->n}};

    know_nothing(&rates.evidence);
    close(mkstemp(path));
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    for (size_t i = 0; i < n; i++)
        write_program(&builder, profile_builder_thread(&builder, (int32_t)i + 1, "thread"),
                      &programs[i], 16 * (i + 1), seed + i);
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);
    uint32_t *groups = calloc(profile->progress.count, sizeof *groups);

    for (size_t i = 0; i < profile->progress.count; i++)
        groups[i] = (uint32_t)(profile->progress.items[i]->loop / 0x10000 - 1);
    for (uint32_t i = 0; i < rates.evidence.groups; i++)
        rates.evidence.share[i] = 1.0 / rates.evidence.groups;
    progress_rates(profile, groups, &rates.evidence);
    rate_fit(&rates.evidence, &rates.fit);
    free(rates.evidence.readings);
    free(rates.evidence.equations);
    free(rates.evidence.terms);
    free(groups);
    profile_free(profile);
    unlink(path);
    return rates;
}

/* Of 20 programs: mean of the estimates near the truth, and intervals that hold it. */
static void assert_rate(const struct program *program, uint32_t group, double rate, double within)
{
    enum { RUNS = 20 };
    double sum = 0;
    int held = 0;

    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct rates rates = rates_of(program, 1, 100 * seed);
        double off = rates.fit.log_rate[group] - log(rate);

        sum += off / RUNS;
        held += fabs(off) <= 1.96 * rates.fit.deviation[group] + 0.01;
    }
    if (fabs(sum) > within || held < RUNS - 3)
        fail_msg("%.3f of %.3f, %d of %d intervals hold it", rate * exp(sum), rate, held, RUNS);
}

static void words_tell_the_rate(void **state)
{
    (void)state;
    /* Steps many in a burst, about one, and one in ten bursts. */
    for (double visit = 50; visit < 50000; visit *= 29)
        assert_rate(&(struct program){&(struct code){.rate = 2, .visit = visit}, 1, true}, 0, 2,
                    0.02 + 0.3 * sqrt(visit / BURST / BURSTS));
}

static void registers_tell_the_rate(void **state)
{
    (void)state;
    assert_rate(&(struct program){&(struct code){.rate = 0.1, .visit = 20}, 1, false}, 0, 0.1,
                0.05);
}

/* Set back every half a millisecond: the short times between looks and bursts say the rate. */
static void variables_that_are_set_back(void **state)
{
    (void)state;
    assert_rate(&(struct program){&(struct code){.rate = 1, .visit = 20, .wraps = 25000}, 1, true},
                0, 1, 0.15);
}

/* Again and again in every time: nothing is said, rather than something wrong. */
static void variables_that_are_set_back_always(void **state)
{
    const struct code code = {.rate = 1, .visit = 20, .wraps = 300};

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rates rates = rates_of(&(struct program){&code, 1, false}, 1, seed);

        if (rates.fit.deviation[0] < 0.4)
            fail_msg("seed %llu: %.3f give or take %.2f", (unsigned long long)seed,
                     exp(rates.fit.log_rate[0]), rates.fit.deviation[0]);
    }
}

/* Fast code and slow code, in which the same word moves; both are found. */
static void two_kinds_of_code(void **state)
{
    const struct code code[] = {{.rate = 0.2, .visit = 10}, {.rate = 4, .visit = 200}};
    const struct program program = {code, 2, true};

    (void)state;
    assert_rate(&program, 0, 0.2, 0.08);
    assert_rate(&program, 1, 4, 0.08);
}

/* A register of one loop, in BURSTS bursts that `at` gives. Returns what is read of it. */
static struct rate_evidence evidence_of(struct progress_variable (*at)(int burst,
                                                                       uint64_t *before_ns))
{
    char path[] = "/tmp/reuse-progress-XXXXXX";
    struct profile_builder builder;
    struct rate_evidence evidence = {.groups = 1, .share = {1}};
    uint32_t groups[BURSTS] = {0};

    close(mkstemp(path));
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    for (int b = 0; b < BURSTS; b++) {
        struct record_progress record = {.thread_id = thread, .loop = 0x10000, .before_ns = 100000};
        struct progress_variable variable = at(b, &record.before_ns);

        variable.kind = PROGRESS_REGISTER;
        variable.width = 3;
        variable.flags = PROGRESS_BEFORE;
        variable.accesses = BURST;
        profile_builder_variable(&builder, record, &variable);
    }
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);

    progress_rates(profile, groups, &evidence);
    profile_free(profile);
    unlink(path);
    return evidence;
}

static void free_evidence(struct rate_evidence *evidence)
{
    free(evidence->readings);
    free(evidence->equations);
    free(evidence->terms);
}

static struct progress_variable jumping(int burst, uint64_t *before_ns)
{
    (void)before_ns;
    return (struct progress_variable){.within = burst == 7 ? 1e13 : 0, .before = 50};
}

/* A register that became another variable in one burst moved by 10^13 there, and by little else:
 * that is no rate of 10^-11. */
static void what_jumped_in_a_burst_says_nothing(void **state)
{
    struct rate_evidence evidence = evidence_of(jumping);

    (void)state;
    assert_int_equal(evidence.reading_count, 0);
    free_evidence(&evidence);
}

static struct progress_variable an_address_once(int burst, uint64_t *before_ns)
{
    (void)before_ns;
    return (struct progress_variable){.within = burst == 7 ? 1e13 : BURST, .before = 95000};
}

/* It counts in all other bursts: that one is left out, and they are as good as ever. */
static void what_was_another_variable_once_is_left_out(void **state)
{
    struct rate_evidence evidence = evidence_of(an_address_once);

    (void)state;
    assert_int_equal(evidence.reading_count, 1);
    assert_float_equal(exp(evidence.readings[0].log_rate), 1, 0.06);
    free_evidence(&evidence);
}

static struct progress_variable below_zero(int burst, uint64_t *before_ns)
{
    if (burst == 7)
        *before_ns = (uint64_t)-3000;
    return (struct progress_variable){.within = BURST, .before = burst == 7 ? 1000 : 95000};
}

/* A signal that took less than it was taken to leaves a time below zero: one burst is not known
 * then, and the others are as good as ever. */
static void a_time_below_zero_is_not_known(void **state)
{
    struct rate_evidence evidence = evidence_of(below_zero);

    (void)state;
    assert_int_equal(evidence.reading_count, 1);
    assert_float_equal(exp(evidence.readings[0].log_rate), 1, 0.05);
    free_evidence(&evidence);
}

/* ---- the fit itself ---- */

/* Two equations for two groups have one solution. */
static void equations_are_solved(void **state)
{
    struct rate_term terms[] = {{0, 100}, {1, 10}, {0, 10}, {1, 50}};
    struct rate_equation equations[] = {
        {.moved = 100 * 0.5 + 10 * 3, .variance = 1e-6, .first = 0, .count = 2},
        {.moved = 10 * 0.5 + 50 * 3, .variance = 1e-6, .first = 2, .count = 2}};
    struct rate_evidence evidence = {.groups = 2,
                                     .share = {0.5, 0.5},
                                     .equations = equations,
                                     .terms = terms,
                                     .equation_count = 2,
                                     .term_count = 4};
    struct rate_fit fit;

    (void)state;
    know_nothing(&evidence);
    rate_fit(&evidence, &fit);
    assert_float_equal(exp(fit.log_rate[0]), 0.5, 0.01);
    assert_float_equal(exp(fit.log_rate[1]), 3, 0.05);
    assert_true(fit.deviation[0] < 0.01 && fit.total_deviation < 0.01);
}

/* One that has jumped does not draw the others along; one alone against one leaves room for both.
 */
static void what_contradicts_counts_little(void **state)
{
    struct rate_reading readings[] = {{.log_rate = log(2), .variance = 0.01},
                                      {.log_rate = log(2.1), .variance = 0.01},
                                      {.log_rate = log(1.9), .variance = 0.01},
                                      {.log_rate = log(25), .variance = 0.01}};
    struct rate_evidence evidence = {
        .groups = 1, .share = {1}, .readings = readings, .reading_count = 4};
    struct rate_fit fit;

    (void)state;
    know_nothing(&evidence);
    rate_fit(&evidence, &fit);
    assert_float_equal(exp(fit.log_rate[0]), 2, 0.1);
}

static void nothing_known_is_a_factor_of_ten(void **state)
{
    struct rate_evidence evidence = {.groups = 1, .share = {1}, .expected = {log(2)}};
    struct rate_fit fit;

    (void)state;
    know_nothing(&evidence);
    rate_fit(&evidence, &fit);
    assert_true(1.96 * fit.deviation[0] > log(10));
    assert_float_equal(exp(fit.log_rate[0]), 2, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_tell_the_rate),
        cmocka_unit_test(registers_tell_the_rate),
        cmocka_unit_test(variables_that_are_set_back),
        cmocka_unit_test(variables_that_are_set_back_always),
        cmocka_unit_test(two_kinds_of_code),
        cmocka_unit_test(what_jumped_in_a_burst_says_nothing),
        cmocka_unit_test(what_was_another_variable_once_is_left_out),
        cmocka_unit_test(a_time_below_zero_is_not_known),
        cmocka_unit_test(equations_are_solved),
        cmocka_unit_test(what_contradicts_counts_little),
        cmocka_unit_test(nothing_known_is_a_factor_of_ten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
