/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Probes of a table at random places, all equally likely: whatever a cache holds of the table is
 * the share of probes that hit it.
 */
#include <stdlib.h>

#include "common/options.h"
#include "common/random.h"
#include "common/reference_model.h"
#include "common/timing.h"
#include "common/truth.h"

static uint64_t bytes = 16 << 20, probes = 1 << 16, seed = 1;
static struct run_options run_options = {.threads = 1};

struct table {
    const uint64_t *table;
    size_t elements;
    uint64_t first_sums[THREADS_MAX]; /* of each thread's first iteration */
};

__attribute__((noinline)) static uint64_t probe(const uint64_t *restrict table, size_t elements,
                                                uint64_t *state, size_t count)
{
    uint64_t sum = 0, random = *state;
    for (size_t i = 0; i < count; i++)
        sum += table[random_below(&random, elements)];
    *state = random;
    return sum;
}

static void work(void *context, size_t thread, struct run *run)
{
    struct table *p = context;
    uint64_t state = random_start(seed + thread);
    while (run_continues(run)) {
        uint64_t sum = probe(p->table, p->elements, &state, probes);
        if (run->iteration == 1)
            p->first_sums[thread] = sum;
    }
}

static double verify(const struct table *p)
{
    double checksum = 0;
    for (size_t thread = 0; thread < run_options.threads; thread++) {
        uint64_t state = random_start(seed + thread), expected = 0;
        for (size_t i = 0; i < probes; i++)
            expected += 3 * random_below(&state, p->elements);
        if (p->first_sums[thread] != expected)
            fatal("wrong result on thread %zu: %llu instead of %llu", thread,
                  (unsigned long long)p->first_sums[thread], (unsigned long long)expected);
        checksum += (double)expected;
    }
    return checksum;
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"bytes", "N[K|M|G]", "size of the table, a multiple of 256", OPTION_SIZE, &bytes, 256,
         (uint64_t)1 << 36},
        {"probes", "N", "probes of one iteration", OPTION_COUNT, &probes, 1, (uint64_t)1 << 40},
        {"seed", "N", "of the random numbers", OPTION_COUNT, &seed, 0, UINT64_MAX},
    };
    const struct command command = {.name = "probes",
                                    .purpose = "Loads from random places of a table.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options,
                                    .threaded = true};
    options_parse(&command, argc, argv);
    if (bytes % ARRAY_ALIGNMENT != 0)
        usage_error("--bytes: %llu is not a multiple of %d", (unsigned long long)bytes,
                    ARRAY_ALIGNMENT);
    static struct table p;
    p.elements = bytes / sizeof *p.table;
    uint64_t *table = aligned_alloc(ARRAY_ALIGNMENT, bytes);
    check_allocation(table, "table", bytes);
    for (size_t i = 0; i < p.elements; i++)
        table[i] = 3 * i;
    p.table = table;

    struct truth *t = truth_create(&command);
    if (t != NULL) {
        truth_parameter(t, "bytes", bytes);
        truth_parameter(t, "probes", probes);
        size_t object = truth_object(t, "table", table, bytes);
        truth_setup(t, p.elements);
        for (size_t i = 0; i < TRUTH_LINE_SIZES; i++) {
            struct reference_object o =
                reference_object_uniform(object, bytes / truth_line_sizes[i]);
            for (size_t thread = 0; thread < run_options.threads; thread++)
                reference_model_truth(t, thread, i, &o, 1, (double)probes);
            free(o.groups);
        }
    }
    uint64_t done[THREADS_MAX];
    const volatile void *markers[THREADS_MAX];
    run_threads(&run_options, work, &p, done, markers);
    double checksum = verify(&p);
    truth_finish(t, &run_options, done, markers, checksum);
    free(table);
    return 0;
}
