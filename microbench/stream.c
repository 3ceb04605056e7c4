/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Triad of McCalpin's STREAM, a[i] = b[i] + s c[i]: three arrays stream by, each thread has its own
 * part of them.
 */
#include <stdlib.h>

#include "common/options.h"
#include "common/timing.h"
#include "common/truth.h"

static uint64_t bytes = 16 << 20;
static struct run_options run_options = {.threads = 4};

enum { A, B, C }; /* numbers of the objects in the truth */

struct stream {
    double *a;
    const double *b, *c;
    size_t elements;
};

__attribute__((noinline)) static void triad(double *restrict a, const double *restrict b,
                                            const double *restrict c, double scalar,
                                            size_t elements)
{
    for (size_t i = 0; i < elements; i++)
        a[i] = b[i] + scalar * c[i];
}

static size_t part_begin(const struct stream *s, size_t thread)
{
    return share_begin(s->elements, ARRAY_ALIGNMENT / sizeof(double), run_options.threads, thread);
}

static void work(void *context, size_t thread, struct run *run)
{
    const struct stream *s = context;
    size_t begin = part_begin(s, thread), end = part_begin(s, thread + 1);
    while (run_continues(run))
        triad(s->a + begin, s->b + begin, s->c + begin, (double)(run->iteration % 1000),
              end - begin);
}

/* A line of any array comes back after all others; within it two other accesses lie between. */
static void tell_truth(struct truth *t, const struct stream *s)
{
    for (size_t thread = 0; thread < run_options.threads; thread++) {
        uint64_t elements = part_begin(s, thread + 1) - part_begin(s, thread);
        for (size_t i = 0; i < TRUTH_LINE_SIZES; i++) {
            uint64_t per_line = truth_line_sizes[i] / sizeof(double);
            uint64_t lines = lines_of(0, elements * sizeof(double), truth_line_sizes[i]);
            uint64_t last_line = elements - (lines - 1) * per_line;
            truth_footprint(t, i, 3 * lines);
            for (size_t object = A; object <= C; object++) {
                truth_reuse(t, thread, i, object, 3 * lines - 1, 3 * elements - 3 * (per_line - 1),
                            (double)(lines - 1));
                truth_reuse(t, thread, i, object, 3 * lines - 1, 3 * elements - 3 * (last_line - 1),
                            1);
                truth_reuse(t, thread, i, object, 2, 3, (double)(elements - lines));
            }
        }
    }
}

static double b_value(size_t i)
{
    return (double)(i % 5);
}

static double c_value(size_t i)
{
    return (double)(i % 7);
}

static double verify(const struct stream *s, const uint64_t *done)
{
    double checksum = 0;
    for (size_t thread = 0; thread < run_options.threads; thread++) {
        for (size_t i = part_begin(s, thread); i < part_begin(s, thread + 1); i++) {
            double expected = c_value(i);
            if (done[thread] > 0)
                expected = b_value(i) + (double)(done[thread] % 1000) * c_value(i);
            if (s->a[i] != expected)
                fatal("wrong result: a[%zu] is %g instead of %g", i, s->a[i], expected);
            checksum += s->a[i];
        }
    }
    return checksum;
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"bytes", "N[K|M|G]", "size of each of the three arrays", OPTION_SIZE, &bytes, 256,
         (uint64_t)1 << 36},
    };
    const struct command command = {.name = "stream",
                                    .purpose = "STREAM triad, a = b + s c.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options,
                                    .threaded = true};
    options_parse(&command, argc, argv);
    if (bytes < ARRAY_ALIGNMENT * run_options.threads)
        usage_error("--bytes: each thread needs %d", ARRAY_ALIGNMENT);
    struct stream s = {.elements = bytes / sizeof(double)};
    double *a = aligned_alloc(ARRAY_ALIGNMENT, array_size(bytes));
    double *b = aligned_alloc(ARRAY_ALIGNMENT, array_size(bytes));
    double *c = aligned_alloc(ARRAY_ALIGNMENT, array_size(bytes));
    check_allocation(a, "a", bytes);
    check_allocation(b, "b", bytes);
    check_allocation(c, "c", bytes);
    for (size_t i = 0; i < s.elements; i++) {
        a[i] = c_value(i);
        b[i] = b_value(i);
        c[i] = c_value(i);
    }
    s.a = a;
    s.b = b;
    s.c = c;

    struct truth *t = truth_create(&command);
    if (t != NULL) {
        truth_parameter(t, "bytes", bytes);
        truth_object(t, "a", a, s.elements * sizeof *a);
        truth_object(t, "b", b, s.elements * sizeof *b);
        truth_object(t, "c", c, s.elements * sizeof *c);
        truth_setup(t, 4 * s.elements);
        tell_truth(t, &s);
    }
    uint64_t done[THREADS_MAX];
    const volatile void *markers[THREADS_MAX];
    run_threads(&run_options, work, &s, done, markers);
    double checksum = verify(&s, done);
    truth_finish(t, &run_options, done, markers, checksum);
    free(c);
    free(b);
    free(a);
    return 0;
}
