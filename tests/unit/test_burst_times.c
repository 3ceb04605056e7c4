/* SPDX-License-Identifier: BSD-3-Clause */
/* What bursts stand for, by the ticks between them, against shares that are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/rates/burst_times.h"
#include "sampling/random.h"
#include "support/profile_builder.h"

enum { BURSTS = 40, WEIGHT = 1000, MOSTLY = 97 };

static const uint64_t slow = 0x10000, fast = 0x20000;

/* One burst that begins at ip, in the loop there, and makes most of its accesses at `mostly`, with
 * n ticks before it. */
static void add_burst_through(struct profile_builder *builder, uint32_t thread, uint64_t ip,
                              uint64_t mostly, const uint64_t *ticks, unsigned n)
{
    const struct probe_count probe = {probe_code(true, 0, 0), 1},
                             probes = {probe_code(true, 0, 0), MOSTLY};
    const struct builder_group groups[] = {
        {.probe = {.ip = ip}, .counts = &probe, .sizes = {1}},
        {.probe = {.ip = mostly}, .counts = &probes, .sizes = {1}},
    };
    struct record_burst burst = profile_builder_default_burst(thread, 0);
    struct record_progress progress = {
        .thread_id = thread, .loop = ip & ~UINT64_C(0xff), .ip = ip, .before_ns = 100000};

    burst.loop = progress.loop;
    burst.weight_ns = WEIGHT;
    burst.accesses = burst.probes = 1 + MOSTLY;
    progress.burst_id = profile_builder_burst(builder, &burst, groups, 2);
    for (unsigned k = 0; k < n; k++)
        progress.ticks[k] = ticks[k];
    profile_builder_variable(builder, progress,
                             &(struct progress_variable){.kind = PROGRESS_REGISTER,
                                                         .flags = PROGRESS_BEFORE,
                                                         .accesses = 1,
                                                         .within = 1,
                                                         .before = 1});
}

static void add_burst(struct profile_builder *builder, uint32_t thread, uint64_t ip,
                      const uint64_t *ticks, unsigned n)
{
    add_burst_through(builder, thread, ip, ip, ticks, n);
}

struct shares {
    double slow, fast, sum;
};

static struct shares times_of(struct profile_builder *builder, const char *path)
{
    struct shares shares = {0};
    struct burst_code code;
    double *times;

    profile_builder_finish(builder);
    struct profile *profile = profile_builder_load(path);
    times = calloc(profile->bursts.count, sizeof *times);
    burst_code_create(profile, &code);
    burst_times(profile, &code, times);
    for (size_t i = 0; i < profile->bursts.count; i++) {
        shares.sum += times[i];
        *(profile->bursts.items[i]->loop == slow ? &shares.slow : &shares.fast) += times[i];
    }
    free(times);
    burst_code_free(&code);
    profile_free(profile);
    unlink(path);
    return shares;
}

static void begin(struct profile_builder *builder, char *path)
{
    close(mkstemp(path));
    profile_builder_begin(builder, path);
    profile_builder_defaults(builder);
}

/* Half of the bursts each, but the ticks are in the slow loop: 4 of 5 parts of the time are. */
static void ticks_divide_the_time(void **state)
{
    char path[] = "/tmp/reuse-times-XXXXXX";
    const uint64_t ticks[] = {slow + 4, slow + 8, slow + 4, slow + 2};
    struct profile_builder builder;

    (void)state;
    begin(&builder, path);
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    for (int i = 0; i < BURSTS; i++)
        add_burst(&builder, thread, (i % 2 ? slow : fast) + (uint64_t)(i % 3), ticks, 4);
    struct shares shares = times_of(&builder, path);

    assert_float_equal(shares.sum, BURSTS * WEIGHT, 1e-6);
    assert_float_equal(shares.slow / shares.sum, 0.8 + 0.2 / 2, 1e-9);
}

/* One burst began in a short loop, but all of them made their accesses near the ticks: each gets
 * the same part of these, though the short loop is nearest. */
static void who_executed_the_code_gets_a_tick(void **state)
{
    char path[] = "/tmp/reuse-times-XXXXXX";
    const uint64_t between = slow + 0x800, ticks[] = {between - 4, between, between + 4, between};
    struct profile_builder builder;

    (void)state;
    begin(&builder, path);
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    for (int i = 0; i < 9; i++)
        add_burst_through(&builder, thread, fast, between, ticks, 4);
    add_burst_through(&builder, thread, slow, between, ticks, 4);
    struct shares shares = times_of(&builder, path);

    assert_float_equal(shares.slow, WEIGHT, 1e-6);
    assert_float_equal(shares.fast, 9 * WEIGHT, 1e-6);
}

/* A tick between two instructions belongs to the nearer one, one beyond all to the last. */
static void the_nearest_instruction_gets_a_tick(void **state)
{
    char path[] = "/tmp/reuse-times-XXXXXX";
    const uint64_t ticks[] = {slow + 0x1000, fast - 0x1000, fast + 0x100000, 1};
    struct profile_builder builder;

    (void)state;
    begin(&builder, path);
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    add_burst(&builder, thread, slow, ticks, 4);
    add_burst(&builder, thread, fast, ticks, 3);
    struct shares shares = times_of(&builder, path);

    assert_float_equal(shares.slow, WEIGHT * (3.0 / 5 + 1.0 / 4), 1e-6);
    assert_float_equal(shares.fast, WEIGHT * (2.0 / 5 + 3.0 / 4), 1e-6);
}

static void without_ticks_bursts_stand_for_their_weights(void **state)
{
    char path[] = "/tmp/reuse-times-XXXXXX";
    struct profile_builder builder;

    (void)state;
    begin(&builder, path);
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    for (int i = 0; i < BURSTS; i++)
        add_burst(&builder, thread, i % 4 ? slow : fast, NULL, 0);
    struct shares shares = times_of(&builder, path);

    assert_float_equal(shares.slow, WEIGHT * BURSTS * 0.75, 1e-6);
    assert_float_equal(shares.fast, WEIGHT * BURSTS * 0.25, 1e-6);
}

/* A place with a tenth of the time: its share scatters less by the root of five. */
static void shares_scatter_less(void **state)
{
    enum { RUNS = 100 };
    double squares = 0, sum = 0;
    const double expected = 0.1 * 0.9 / (5 * BURSTS);

    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        char path[] = "/tmp/reuse-times-XXXXXX";
        struct profile_builder builder;
        struct random random;

        random_seed(&random, seed);
        begin(&builder, path);
        uint32_t thread = profile_builder_thread(&builder, 1, "one");
        for (int i = 0; i < BURSTS; i++) {
            uint64_t places[5];

            for (unsigned k = 0; k < 5; k++)
                places[k] = random_below(&random, 10) == 0 ? fast : slow;
            add_burst(&builder, thread, places[4], places, 4);
        }
        struct shares shares = times_of(&builder, path);
        double share = shares.fast / shares.sum;

        sum += share / RUNS;
        squares += (share - 0.1) * (share - 0.1) / RUNS;
    }
    assert_float_equal(sum, 0.1, 0.01);
    assert_true(squares < 2 * expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks_divide_the_time),
        cmocka_unit_test(who_executed_the_code_gets_a_tick),
        cmocka_unit_test(the_nearest_instruction_gets_a_tick),
        cmocka_unit_test(without_ticks_bursts_stand_for_their_weights),
        cmocka_unit_test(shares_scatter_less),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
