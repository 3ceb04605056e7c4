/* SPDX-License-Identifier: BSD-3-Clause */
/* How many turns sampled ones stand for, from counters of a known pace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/communication/communication_internal.h"
#include "support/profile_builder.h"

enum { STORES = 10, SAMPLED = 397, LOOP = 0x1000, THREAD_TURNS = 100 * 1000 };

/* What the counter of a program does. */
struct program {
    uint64_t (*step)(uint64_t turn);
    bool reset;     /* to zero, once in the run */
    bool complete;  /* turns are seen to their end */
    double counted; /* of the truth; 0: nothing can be said */
    double tolerance;
};

static uint64_t by_one(uint64_t turn)
{
    (void)turn;
    return 1;
}

static uint64_t downwards(uint64_t turn)
{
    (void)turn;
    return (uint64_t)-24;
}

/* Long turns move it further, and are sampled the more often for it. */
static uint64_t by_their_length(uint64_t turn)
{
    return 1 + turn * 2654435761u % 7;
}

static uint64_t to_and_fro(uint64_t turn)
{
    return turn % 2 ? 1 : (uint64_t)-1;
}

/* A turn lasts as long as its step says, up or down; samples come at equal times. */
static void write_turns(struct profile_builder *builder, uint32_t thread,
                        const struct program *program)
{
    uint64_t value = 1000, time = 0, end = 0, turn, samples = 0;

    for (turn = 0; turn < THREAD_TURNS; turn++) {
        int64_t step = (int64_t)program->step(turn);
        end += (uint64_t)llabs(step);
    }
    for (turn = 0; turn < THREAD_TURNS; turn++) {
        uint64_t step = program->step(turn);

        time += (uint64_t)llabs((int64_t)step);
        value += step;
        if (program->reset && turn == THREAD_TURNS / 2)
            value = 0;
        while (samples < SAMPLED && samples * end / SAMPLED < time) {
            struct record_sample sample = profile_builder_default_sample(thread, 0);
            sample.kind = 2; /* a store */
            sample.loop = LOOP;
            sample.weight_ns = 0;
            sample.flags = SAMPLE_TURN | SAMPLE_LINE_OFFERED;
            sample.app_ns = time;
            struct record_turn record = {.app_ns = time,
                                         .wait_ip = LOOP,
                                         .loop = LOOP,
                                         .thread_id = thread,
                                         .stores = STORES,
                                         .complete = program->complete};
            record.sample_id = profile_builder_sample(builder, &sample);
            if (program->complete) {
                record.places[0] = 4;
                record.values[0] = value;
                record.steps[0] = step;
            }
            profile_builder_record(builder, RECORD_TURN, &record, sizeof record);
            samples++;
        }
    }
}

static double stores_estimated(const struct program *program, bool *covered)
{
    char path[] = "/tmp/reuse-turns-XXXXXX", message[200];
    int descriptor = mkstemp(path);
    struct analysis_options options = {.bootstrap = 0};
    struct profile_builder builder;
    struct turns turns;
    double stores = 0;

    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    profile_builder_thread(&builder, 2, "two");
    write_turns(&builder, thread, program);
    profile_builder_finish(&builder);
    const struct profile *profile = profile_builder_load(path);
    unlink(path);
    struct analysis *analysis = analysis_create(&profile, 1, &options, message, sizeof message);
    assert_non_null(analysis);
    turns_create(analysis, &turns);
    for (size_t i = 0; i < analysis->count; i++)
        stores += turns_weight(&turns, &analysis->samples[i]);
    *covered = turns_cover(&turns, 0, thread);
    assert_false(turns_cover(&turns, 0, thread + 1));
    turns_free(&turns);
    analysis_free(analysis);
    profile_free((struct profile *)(uintptr_t)profile);
    return stores;
}

static void turns_are_counted_by_what_counts_them(void **state)
{
    static const struct program programs[] = {
        {by_one, false, true, 1, .02},          {downwards, false, true, 1, .02},
        {by_their_length, false, true, 1, .06}, {by_one, true, true, 1, .03},
        {to_and_fro, false, true, 0, 0},        {by_one, false, false, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        bool covered;
        double stores = stores_estimated(&programs[i], &covered);
        double truth = programs[i].counted * STORES * THREAD_TURNS;

        print_message("%zu: %.0f of %.0f\n", i, stores, truth);
        assert_true(covered == (programs[i].counted > 0));
        assert_float_equal(stores, truth, programs[i].tolerance * truth + 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_are_counted_by_what_counts_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
