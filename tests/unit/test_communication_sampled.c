/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The estimate of communication against brute force, on traces whose samples are taken and watched
 * by the very policy of the runtime on simulated registers: no bias over many seeds, and intervals
 * that hold the truth.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/communication/communication.h"
#include "sampling/random.h"
#include "support/instrumented.h"
#include "support/profile_builder.h"
#include "support/sharing_trace.h"

enum { STORE = ACCESS_STORE, LOAD = ACCESS_LOAD, MODIFY = ACCESS_LOAD | ACCESS_STORE };

/* ---- traces ---- */

typedef void (*generator)(struct sharing_trace *, struct random *, size_t accesses);

/* Two threads answer each other on one word. */
static void ping_pong(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    (void)random;
    while (trace->count < accesses) {
        for (uint32_t thread = 1; thread <= 2; thread++) {
            sharing_trace_add(trace, thread, 0, 8, LOAD, 0x401000 + thread);
            sharing_trace_add(trace, thread, 4096 + 64 * thread, 8, MODIFY, 0x401020);
            sharing_trace_add(trace, thread, 0, 8, STORE, 0x401010 + thread);
        }
    }
}

/* Two threads answer each other in two words of a line, and a third reads another word rarely. */
static void rare_reader(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    while (trace->count < accesses) {
        for (uint32_t thread = 1; thread <= 2; thread++) {
            sharing_trace_add(trace, thread, 8 * (2 - thread), 8, LOAD, 0x401000 + thread);
            sharing_trace_add(trace, thread, 8 * (thread - 1), 8, STORE, 0x401010 + thread);
        }
        if (random_below(random, 40) == 0)
            sharing_trace_add(trace, 3, 16, 8, LOAD, 0x401020);
    }
}

/* Eight threads count in words of one line, and in lines of their own. */
static void counters(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    while (trace->count < accesses) {
        uint32_t thread = 1 + random_below(random, 8);

        sharing_trace_add(trace, thread, 8 * (thread - 1), 8, MODIFY, 0x402000);
        sharing_trace_add(trace, thread, 4096 + 64 * thread, 8, MODIFY, 0x402010);
        sharing_trace_add(trace, thread, 4096 + 64 * thread, 8, LOAD, 0x402020);
    }
}

/* Objects of a line wander from thread to thread, each of which reads and then changes them. */
static void migratory(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    while (trace->count < accesses) {
        uint32_t thread = 1 + random_below(random, 4), object = 64 * random_below(random, 64);

        sharing_trace_add(trace, thread, object, 8, LOAD, 0x404000);
        sharing_trace_add(trace, thread, object + 8, 4, LOAD, 0x404004);
        sharing_trace_add(trace, thread, object + 16, 8, STORE, 0x404008);
        sharing_trace_add(trace, thread, object, 8, STORE, 0x40400c);
        for (unsigned i = 0; i < 4; i++)
            sharing_trace_add(trace, thread, 64 * (512 + 32 * thread + random_below(random, 32)), 8,
                              i % 2 ? STORE : LOAD, 0x404010 + 4 * i);
    }
}

/* Eleven threads read a table that one changes now and then. */
static void read_mostly(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    while (trace->count < accesses) {
        uint32_t thread = 2 + random_below(random, 11), line = 64 * random_below(random, 4);

        sharing_trace_add(trace, thread, line + 8 * random_below(random, 8), 8, LOAD, 0x405000);
        if (random_below(random, 30) == 0)
            sharing_trace_add(trace, 1, 64 * random_below(random, 4), 8, STORE, 0x405010);
    }
}

/* Threads that only seem to: nothing is shared. */
static void private(struct sharing_trace *trace, struct random *random, size_t accesses)
{
    while (trace->count < accesses) {
        uint32_t thread = 1 + random_below(random, 4);

        sharing_trace_add(trace, thread, 64 * (64 * thread + random_below(random, 64)), 8,
                          random_below(random, 2) ? STORE : LOAD, 0x406000);
    }
}

/* ---- comparison ---- */

struct sums {
    double all, kinds[4], true_sharing;
    double cells[SHARING_THREADS + 1][SHARING_THREADS + 1];
};

static void sum_truth(const struct sharing_truth *truth, struct sums *sums)
{
    memset(sums, 0, sizeof *sums);
    for (unsigned kind = TRANSFER_RAW; kind <= TRANSFER_WAW; kind++)
        for (unsigned real = 0; real < 2; real++)
            for (unsigned a = 1; a <= SHARING_THREADS; a++)
                for (unsigned b = 1; b <= SHARING_THREADS; b++) {
                    double n = truth->transfers[kind][real][a][b];

                    sums->all += n;
                    sums->kinds[kind] += n;
                    sums->true_sharing += real ? n : 0;
                    sums->cells[a][b] += n;
                }
}

static void sum_flows(const struct communication *communication, struct sums *sums)
{
    memset(sums, 0, sizeof *sums);
    for (size_t i = 0; i < communication_flow_count(communication); i++) {
        const struct flow *flow = communication_flow(communication, i);

        sums->all += flow->transfers;
        sums->kinds[flow->kind] += flow->transfers;
        sums->true_sharing += flow->true_sharing ? flow->transfers : 0;
        sums->cells[flow->source.thread_id][flow->destination.thread_id] += flow->transfers;
    }
}

static double distance(const struct sums *a, const struct sums *b)
{
    double sum = 0;

    for (unsigned i = 1; i <= SHARING_THREADS; i++)
        for (unsigned k = 1; k <= SHARING_THREADS; k++)
            sum += fabs(a->cells[i][k] / fmax(a->all, 1e-9) - b->cells[i][k] / fmax(b->all, 1e-9));
    return sum;
}

struct scenario {
    const char *name;
    generator generate;
    double low, high;  /* mean of estimate / truth over the seeds */
    double distance;   /* of the matrix, normalised, mean over the seeds' sum */
    double held;       /* least share of seeds whose interval holds the truth */
    double true_error; /* of the share of true sharing */
    bool look_ahead, waits;
};

/* Visits that never end (read-mostly), or gaps that are not at random (counters), have a known bias
 * when looking ahead; several words of a visit each count where nobody looked ahead. */
static const struct scenario scenarios[] = {
    {"ping-pong", ping_pong, 0.95, 1.05, 0.05, 0.85, 0.02, false, false},
    {"ping-pong, ahead", ping_pong, 0.95, 1.05, 0.05, 0.85, 0.02, true, true},
    {"rare reader", rare_reader, 0.9, 1.1, 0.1, 0.85, 0.05, false, false},
    {"rare reader, ahead", rare_reader, 0.9, 1.1, 0.1, 0.85, 0.05, true, true},
    {"counters", counters, 0.9, 1.1, 0.15, 0.85, 0.02, false, false},
    {"counters, ahead", counters, 0.8, 1.25, 0.2, 0, 0.02, true, false},
    {"buffers", sharing_trace_buffers, 0.6, 1.6, 0.1, 0, 0.4, false, false},
    {"buffers, ahead", sharing_trace_buffers, 0.85, 1.15, 0.1, 0.85, 0.1, true, true},
    {"migratory", migratory, 0.7, 1.2, 0.2, 0, 0.3, false, false},
    {"migratory, ahead", migratory, 0.85, 1.15, 0.15, 0.85, 0.1, true, true},
    {"read-mostly", read_mostly, 0.85, 1.15, 0.15, 0.85, 0.15, false, false},
    {"read-mostly, ahead", read_mostly, 0.6, 1.15, 0.15, 0, 0.15, true, true},
    {"private", private, 0, 0, 0, 0.85, 0, false, false},
};

enum { SEEDS = SEEDS_OF(20), ACCESSES = 200 * 1000, PERIOD = 100 };

static void run(const struct scenario *scenario)
{
    struct sharing_truth *truth = malloc(sizeof *truth);
    struct sums estimated, counted, all_estimated, all_counted;
    double held = 0;

    memset(&all_estimated, 0, sizeof all_estimated);
    memset(&all_counted, 0, sizeof all_counted);
    assert_non_null(truth);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char path[] = "/tmp/reuse-sharing-XXXXXX", message[256];
        struct sharing_trace trace = {0};
        struct sharing_sampling sampling = {PERIOD, seed, scenario->look_ahead, scenario->waits};
        struct random random;
        int descriptor = mkstemp(path);

        assert_true(descriptor >= 0);
        close(descriptor);
        random_seed(&random, 1000 + seed);
        scenario->generate(&trace, &random, ACCESSES);
        sharing_trace_count(&trace, 64, truth);
        sharing_trace_sample(&trace, &sampling, path);
        struct profile *profile = profile_builder_load(path);
        unlink(path);
        struct analysis *analysis = analysis_create((const struct profile *const *)&profile, 1,
                                                    NULL, message, sizeof message);
        if (!analysis)
            fail_msg("%s", message);
        struct communication *communication =
            communication_create(analysis, 0, message, sizeof message);
        if (!communication)
            fail_msg("%s", message);
        sum_truth(truth, &counted);
        sum_flows(communication, &estimated);
        struct estimate total = communication_total(communication, NULL, 0);
        assert_true(fabs(total.value - estimated.all) <= 1e-6 * fmax(1, total.value));
        held += total.lo <= counted.all && counted.all <= total.hi;
        for (unsigned i = 0; i < sizeof(struct sums) / sizeof(double); i++) {
            ((double *)&all_estimated)[i] += ((double *)&estimated)[i] / SEEDS;
            ((double *)&all_counted)[i] += ((double *)&counted)[i] / SEEDS;
        }
        communication_free(communication);
        analysis_free(analysis);
        profile_free(profile);
        sharing_trace_free(&trace);
    }
    free(truth);
    held /= SEEDS;
    double ratio = all_counted.all > 0 ? all_estimated.all / all_counted.all : all_estimated.all;
    double apart = distance(&all_estimated, &all_counted);
    double true_error = fabs(all_estimated.true_sharing / fmax(all_estimated.all, 1e-9) -
                             all_counted.true_sharing / fmax(all_counted.all, 1e-9));
    print_message("%-26s truth %8.0f ratio %.3f raw %.2f war %.2f waw %.2f distance %.3f held %.2f "
                  "true %+.3f\n",
                  scenario->name, all_counted.all, ratio,
                  all_estimated.kinds[1] / fmax(1, all_counted.kinds[1]),
                  all_estimated.kinds[2] / fmax(1, all_counted.kinds[2]),
                  all_estimated.kinds[3] / fmax(1, all_counted.kinds[3]), apart, held, true_error);
    assert_on_average(ratio >= scenario->low && ratio <= scenario->high);
    assert_on_average(held >= scenario->held);
    if (all_counted.all > 0) {
        assert_on_average(apart <= scenario->distance);
        assert_on_average(true_error <= scenario->true_error);
    }
}

static void estimate_against_brute_force(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        run(&scenarios[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimate_against_brute_force),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
