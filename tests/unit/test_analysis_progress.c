/* SPDX-License-Identifier: BSD-3-Clause */
/* Access rates from variables that move on, against programs whose rate is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/rates/progress_rates.h"
#include "sampling/random.h"
#include "support/profile_builder.h"

enum { BURST = 4096, BURSTS = 40 };

/* A program that makes `rate` accesses per ns; after a burst it is `cold` times as fast. */
struct program {
    double rate, cold;
    double visit; /* mean accesses per step of its variable */
    bool varies;  /* visits are geometric, else all alike */
    double wraps; /* steps after which the variable is set back; 0: never */
    bool word;    /* else a register, not read at the next burst */
};

static double uniform(struct random *random)
{
    return ((double)(random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

/* Steps made in so many accesses. */
static double steps(const struct program *program, struct random *random, double accesses)
{
    double n = accesses / program->visit;

    /* About normal; visits of exponential length make the steps a Poisson process. */
    if (program->varies)
        n += sqrt(n) * sqrt(-2 * log(uniform(random))) * cos(2 * M_PI * uniform(random));
    return n < 0 ? 0 : floor(n + uniform(random));
}

static double moved(const struct program *program, double *position, double by)
{
    double from = *position;

    *position += by;
    if (program->wraps > 0)
        *position = fmod(*position, program->wraps);
    return *position - from;
}

static void write_program(struct profile_builder *builder, uint32_t thread,
                          const struct program *program, uint64_t place, uint64_t seed)
{
    struct random random;

    random_seed(&random, seed);
    for (int b = 0; b < BURSTS; b++) {
        double position = program->wraps * uniform(&random), quarter[4];
        struct record_progress record = {
            .thread_id = thread,
            .kind = program->word ? PROGRESS_WORD : PROGRESS_REGISTER,
            .width = program->word ? 8 : 0,
            .loop = 0x10000,
            .head = program->word ? 0 : 0x10000,
            .place = place,
            .app_ns = 1000000 + 20000000 * (uint64_t)b,
            .accesses = BURST,
            .parts = 4,
            .brief_ns = 40000,
            .long_ns = 1000000,
            .rest_ns = program->word ? 18000000 : 0,
        };

        for (int i = 0; i < 4; i++) {
            quarter[i] = steps(program, &random, BURST / 4.0);
            record.progress += quarter[i];
            record.squares += quarter[i] * quarter[i];
        }
        record.brief_progress =
            moved(program, &position, steps(program, &random, 0.5 * program->rate * 40000));
        record.long_progress = moved(
            program, &position, steps(program, &random, program->cold * program->rate * 1000000));
        if (program->word)
            record.rest_progress =
                moved(program, &position, steps(program, &random, program->rate * 18000000));
        profile_builder_record(builder, RECORD_PROGRESS, &record, sizeof record);
    }
}

/* Readings of programs, one variable each, together; their mean rate. */
static double mean_rate(const struct program *programs, size_t n, uint64_t seed, long *count)
{
    char path[] = "/tmp/reuse-progress-XXXXXX";
    struct profile_builder builder;
    struct progress_reading *readings;
    double sum = 0;

    close(mkstemp(path));
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    for (size_t i = 0; i < n; i++)
        write_program(&builder, thread, &programs[i], 16 * i, seed + i);
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);

    *count = progress_rates(profile, &readings);
    for (long i = 0; i < *count; i++) {
        assert_int_equal(readings[i].loop, 0x10000);
        sum += readings[i].per_ns / (double)*count;
    }
    free(readings);
    profile_free(profile);
    unlink(path);
    return sum;
}

static void assert_rate(const struct program *programs, size_t n, double rate, double within)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        long count;
        double mean = mean_rate(programs, n, 100 * seed, &count);

        if (count < BURSTS / 2 || count > BURSTS || fabs(mean / rate - 1) > within)
            fail_msg("seed %llu: %ld readings, %.3f instead of %.3f", (unsigned long long)seed,
                     count, mean, rate);
    }
}

static void words_tell_the_rate(void **state)
{
    (void)state;
    assert_rate(&(struct program){.rate = 2, .cold = 1, .visit = 50, .word = true}, 1, 2, 0.02);
}

/* Visits shorter and longer than a burst count alike. */
static void visits_may_differ_in_length(void **state)
{
    (void)state;
    for (double visit = 30; visit < 2000; visit *= 3)
        assert_rate(
            &(struct program){.rate = 0.7, .cold = 1, .visit = visit, .varies = true, .word = true},
            1, 0.7, 0.03 + sqrt(4.5 * visit / BURST / BURSTS));
}

/* Slow after a burst: the time up to the next one counts, and tells of registers what they do not
 * see. */
static void a_program_that_is_slow_after_bursts(void **state)
{
    const struct program both[] = {{.rate = 3, .cold = 0.8, .visit = 40, .word = true},
                                   {.rate = 3, .cold = 0.8, .visit = 100}};

    (void)state;
    assert_rate(both, 1, 3, 0.03);
    assert_rate(both, 2, 3, 0.03);
}

/* Set back every 5 ms: the word says nothing of the time up to the next burst, but of a
 * millisecond. */
static void words_that_are_set_back(void **state)
{
    const struct program program = {
        .rate = 1, .cold = 0.9, .visit = 20, .wraps = 250000, .word = true};

    (void)state;
    assert_rate(&program, 1, 1, 0.05);
}

/* Set back every 0.3 ms, again and again within each stretch: no reading, rather than low ones. */
static void registers_of_loops_that_end(void **state)
{
    const struct program program = {.rate = 1, .cold = 1, .visit = 20, .wraps = 15000};
    long count;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        mean_rate(&program, 1, seed, &count);
        if (count > BURSTS / 10)
            fail_msg("seed %llu: %ld readings", (unsigned long long)seed, count);
    }
}

/* One that wraps does not draw the others down. */
static void the_middle_variable_counts(void **state)
{
    const struct program programs[] = {
        {.rate = 2, .cold = 1, .visit = 50, .word = true},
        {.rate = 2, .cold = 1, .visit = 50, .wraps = 15000, .word = true},
        {.rate = 2, .cold = 1, .visit = 70, .word = true},
    };

    (void)state;
    assert_rate(programs, 3, 2, 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_tell_the_rate),
        cmocka_unit_test(visits_may_differ_in_length),
        cmocka_unit_test(a_program_that_is_slow_after_bursts),
        cmocka_unit_test(words_that_are_set_back),
        cmocka_unit_test(registers_of_loops_that_end),
        cmocka_unit_test(the_middle_variable_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
