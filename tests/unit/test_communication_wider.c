/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communication at 128 and 256 bytes from profiles with 64-byte lines, against brute force: the
 * intervals hold the truth, and the model is near it where its assumptions are right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/communication/communication.h"
#include "sampling/random.h"
#include "support/instrumented.h"
#include "support/profile_builder.h"
#include "support/sharing_trace.h"

enum { STORE = ACCESS_STORE, LOAD = ACCESS_LOAD, MODIFY = ACCESS_LOAD | ACCESS_STORE };

typedef void (*generator)(struct sharing_trace *, struct random *, size_t accesses);

/* Eight threads count in a line of 64 bytes each, side by side. */
static void padded_counters(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    while (trace->count < accesses) {
        uint32_t thread = 1 + random_below(random, 8);

        sharing_trace_add(trace, thread, 64 * (thread - 1), 8, MODIFY, 0x402000);
        sharing_trace_add(trace, thread, 4096 * thread, 8, LOAD, 0x402020);
    }
}

/* The same by turns, one after the other: the model's random order is wrong. */
static void counters_by_turns(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    (void)random;
    while (trace->count < accesses)
        for (uint32_t thread = 1; thread <= 8; thread++)
            sharing_trace_add(trace, thread, 64 * (thread - 1), 8, MODIFY, 0x402000);
}

/* Two threads change a line each, which a third one reads. */
static void watched_by_a_third(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    while (trace->count < accesses) {
        uint32_t thread = 1 + random_below(random, 3);

        if (thread == 3)
            sharing_trace_add(trace, 3, 128, 8, LOAD, 0x402010);
        else
            sharing_trace_add(trace, thread, 64 * (thread - 1), 8, MODIFY, 0x402000);
    }
}

/* A line that two threads hand to each other, with nothing beside it. */
static void alone(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    while (trace->count < accesses) {
        for (uint32_t thread = 1; thread <= 2; thread++) {
            sharing_trace_add(trace, thread, 0, 8, LOAD, 0x401000 + thread);
            sharing_trace_add(trace, thread, 0, 8, STORE, 0x401010 + thread);
            for (unsigned i = 0; i < 300; i++)
                sharing_trace_add(trace, thread, 4096 * thread + 64 * random_below(random, 40), 8,
                                  LOAD, 0x401020);
        }
    }
}

/* Threads with 256 bytes each. */
static void private(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    while (trace->count < accesses) {
        uint32_t thread = 1 + random_below(random, 4);

        sharing_trace_add(trace, thread, 256 * thread + 8 * random_below(random, 32), 8,
                          random_below(random, 2) ? STORE : LOAD, 0x406000);
    }
}

struct scenario {
    const char *name;
    generator generate;
    uint32_t line_size;
    double low, high; /* mean of estimate / truth over the seeds */
    double held;      /* least share of seeds whose interval holds the truth */
};

static const struct scenario scenarios[] = {
    {"padded counters, 64", padded_counters, 64, 0, 0, 0.85},
    {"padded counters, 128", padded_counters, 128, 0.9, 1.1, 0.95},
    {"padded counters, 256", padded_counters, 256, 0.9, 1.1, 0.95},
    {"by turns, 128", counters_by_turns, 128, 0.4, 0.6, 0.85},
    {"a third, 256", watched_by_a_third, 256, 0.9, 1.1, 0.95},
    {"buffers, 128", sharing_trace_buffers, 128, 0.8, 1.3, 0.85},
    {"buffers, 256", sharing_trace_buffers, 256, 0.6, 1.6, 0.85},
    {"alone, 256", alone, 256, 0.8, 1.2, 0.85},
    {"private, 256", private, 256, 0, 0, 0.85},
};

enum { SEEDS = SEEDS_OF(20), ACCESSES = 200 * 1000, PERIOD = 100 };

static double sum_of(const struct sharing_truth *truth)
{
    double sum = 0;

    for (size_t i = 0; i < sizeof *truth / sizeof(double); i++)
        sum += ((const double *)truth)[i];
    return sum;
}

static struct estimate estimate_of(const struct sharing_trace *trace, uint32_t line_size,
                                   uint64_t seed)
{
    char path[] = "/tmp/reuse-wider-XXXXXX", message[256];
    struct sharing_sampling sampling = {PERIOD, seed, true, false};
    int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    close(descriptor);
    sharing_trace_sample(trace, &sampling, path);
    struct profile *profile = profile_builder_load(path);
    unlink(path);
    struct analysis *analysis =
        analysis_create((const struct profile *const *)&profile, 1, NULL, message, sizeof message);
    if (!analysis)
        fail_msg("%s", message);
    struct communication *communication =
        communication_create(analysis, line_size, message, sizeof message);
    if (!communication)
        fail_msg("%s", message);
    for (size_t i = 0; i < communication_flow_count(communication); i++) {
        const struct flow *flow = communication_flow(communication, i);

        assert_int_equal(flow->line_address % line_size, 0);
        assert_true(flow->source.offset < line_size && flow->destination.offset < line_size);
    }
    struct estimate total = communication_total(communication, NULL, 0);
    communication_free(communication);
    analysis_free(analysis);
    profile_free(profile);
    return total;
}

static void run(const struct scenario *scenario)
{
    struct sharing_truth *truth = malloc(sizeof *truth);
    double estimated = 0, counted = 0, held = 0;

    assert_non_null(truth);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sharing_trace trace = {0};
        struct random random;

        random_seed(&random, 1000 + seed);
        scenario->generate(&trace, &random, ACCESSES);
        sharing_trace_count(&trace, scenario->line_size, truth);
        struct estimate total = estimate_of(&trace, scenario->line_size, seed);
        double transfers = sum_of(truth);
        estimated += total.value;
        counted += transfers;
        held += (total.lo <= transfers && transfers <= total.hi) / (double)SEEDS;
        sharing_trace_free(&trace);
    }
    free(truth);
    double ratio = counted > 0 ? estimated / counted : estimated;
    print_message("%-22s truth %8.0f ratio %.3f held %.2f\n", scenario->name, counted / SEEDS,
                  ratio, held);
    assert_on_average(ratio >= scenario->low && ratio <= scenario->high);
    assert_on_average(held >= scenario->held);
}

static void wider_lines_against_brute_force(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        run(&scenarios[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wider_lines_against_brute_force),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
