/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cyclic sweep over an array: the textbook case for LRU. Every cache that does not hold the whole
 * array misses each line once per sweep; every larger one never.
 */
#include <stdlib.h>

#include "common/options.h"
#include "common/timing.h"
#include "common/truth.h"

static uint64_t bytes = 1 << 20, stride = 8;
static const char *kind = "load";
static struct run_options run_options = {.threads = 1};

/* Each thread sweeps its own part of the array a. */
struct sweep {
    uint64_t *a;
    size_t elements, step; /* of a; between two accesses */
    size_t threads;
    bool stores;
    uint64_t sums[THREADS_MAX];
};

__attribute__((noinline)) static uint64_t sweep_load(const uint64_t *restrict a, size_t elements,
                                                     size_t step)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < elements; i += step)
        sum += a[i];
    return sum;
}

__attribute__((noinline)) static void sweep_store(uint64_t *restrict a, size_t elements,
                                                  size_t step, uint64_t value)
{
    for (size_t i = 0; i < elements; i += step)
        a[i] = value;
}

static size_t part_begin(const struct sweep *s, size_t thread)
{
    return share_begin(s->elements, ARRAY_ALIGNMENT / sizeof *s->a, s->threads, thread);
}

static void work(void *context, size_t thread, struct run *run)
{
    struct sweep *s = context;
    size_t begin = part_begin(s, thread), elements = part_begin(s, thread + 1) - begin;
    uint64_t sum = 0;
    while (run_continues(run)) {
        if (s->stores)
            sweep_store(s->a + begin, elements, s->step, run->iteration);
        else
            sum += sweep_load(s->a + begin, elements, s->step);
    }
    s->sums[thread] = sum;
}

static void tell_truth(struct truth *t, const struct sweep *s)
{
    for (size_t thread = 0; thread < s->threads; thread++) {
        uint64_t elements = part_begin(s, thread + 1) - part_begin(s, thread);
        uint64_t accesses = (elements + s->step - 1) / s->step;
        for (size_t i = 0; i < TRUTH_LINE_SIZES; i++) {
            truth_sweep(t, thread, i, 0, accesses, stride, 0, 0, 1);
            truth_footprint(t, i, sweep_lines(accesses, stride, truth_line_sizes[i]));
        }
    }
}

/* What the sums, or the array, must hold after so many sweeps of element i = i. */
static double verify(const struct sweep *s, const uint64_t *done)
{
    uint64_t checksum = 0;
    for (size_t thread = 0; thread < s->threads; thread++) {
        size_t begin = part_begin(s, thread), elements = part_begin(s, thread + 1) - begin;
        uint64_t accesses = (elements + s->step - 1) / s->step, expected, found;
        if (s->stores) {
            expected = done[thread];
            found = accesses ? s->a[begin + (accesses - 1) * s->step] : expected;
        } else {
            /* sum over k < accesses of begin + k * step, modulo 2^64 */
            unsigned __int128 pairs = (unsigned __int128)accesses * (accesses - 1) / 2;
            expected = (accesses * begin + (uint64_t)pairs * s->step) * done[thread];
            found = s->sums[thread];
        }
        if (found != expected)
            fatal("wrong result on thread %zu: %llu instead of %llu", thread,
                  (unsigned long long)found, (unsigned long long)expected);
        checksum += found;
    }
    return (double)checksum;
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"bytes", "N[K|M|G]", "size of the array", OPTION_SIZE, &bytes, 256, (uint64_t)1 << 36},
        {"stride", "N", "bytes from one access to the next, a multiple of 8", OPTION_SIZE, &stride,
         8, (uint64_t)1 << 30},
        {"access", "load|store", "what is done to an element", OPTION_CHOICE, &kind, 0, 0},
    };
    const struct command command = {.name = "sweep",
                                    .purpose = "Sweeps over an array again and again.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options,
                                    .threaded = true};
    options_parse(&command, argc, argv);
    if (stride % 8 != 0)
        usage_error("--stride: %llu is not a multiple of 8", (unsigned long long)stride);
    if (bytes < ARRAY_ALIGNMENT * run_options.threads)
        usage_error("--bytes: each thread needs %d", ARRAY_ALIGNMENT);

    static struct sweep s;
    s.elements = bytes / sizeof *s.a;
    s.step = stride / sizeof *s.a;
    s.threads = run_options.threads;
    s.stores = kind[0] == 's';
    uint64_t *a = aligned_alloc(ARRAY_ALIGNMENT, array_size(s.elements * sizeof *a));
    check_allocation(a, "a", s.elements * sizeof *a);
    s.a = a;
    for (size_t i = 0; i < s.elements; i++)
        a[i] = i;

    struct truth *t = truth_create(&command);
    if (t != NULL) {
        truth_parameter(t, "bytes", bytes);
        truth_parameter(t, "stride", stride);
        truth_parameter_text(t, "access", kind);
        truth_object(t, "a", a, s.elements * sizeof *a);
        truth_setup(t, s.elements + (s.stores ? s.threads : 0));
        tell_truth(t, &s);
    }
    uint64_t done[THREADS_MAX];
    const volatile void *markers[THREADS_MAX];
    run_threads(&run_options, work, &s, done, markers);
    double checksum = verify(&s, done);
    truth_finish(t, &run_options, done, markers, checksum);
    free(a);
    return 0;
}
