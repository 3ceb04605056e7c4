/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dense matrix (transposed) times vector, x[j] += m[i][j] * b[i]: x is used again in every row, m
 * streams by and doubles the distance between two uses of x. The example of Breiter's sector-cache
 * study (Master's thesis, LMU Munich 2022), where 500 x 5000 makes b 4 KB, x 40 KB and m 20 MB.
 * Threads divide the columns, so that no two write the same element.
 *
 * dmtvm-vector is this file built with two columns at a time (DMTVM_LANES=2).
 */
#include <stdlib.h>

#include "common/options.h"
#include "common/timing.h"
#include "common/truth.h"

#ifndef DMTVM_LANES
#define DMTVM_LANES 1
#endif
#if DMTVM_LANES == 1
#define DMTVM_NAME "dmtvm"
typedef double lanes;
#else
#define DMTVM_NAME "dmtvm-vector"
typedef double lanes __attribute__((vector_size(sizeof(double) * DMTVM_LANES), may_alias));
#endif

static uint64_t rows = 500, columns = 5000;
static struct run_options run_options = {.threads = 1};

enum { B, X, M }; /* numbers of the objects in the truth */

struct dmtvm {
    const double *b;
    double *x;
    const double *m;
    size_t threads;
};

/* Not all the same, or the compiler would call memset() to store it. */
static double x_start(size_t j)
{
    return (double)(j % 5 + 1);
}

static void init(double *b, double *x, double *m)
{
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++)
            m[i * columns + j] = (double)((i % 7 + 1) * (j % 5 + 1));
    }
    for (size_t i = 0; i < rows; i++)
        b[i] = (double)(i % 3 + 1);
    for (size_t j = 0; j < columns; j++)
        x[j] = x_start(j);
}

/* Columns begin .. end-1, both multiples of DMTVM_LANES. */
__attribute__((noinline)) static void dmtvm(const double *restrict b, double *restrict x,
                                            const double *restrict m, size_t nrow, size_t ncol,
                                            size_t begin, size_t end)
{
    for (size_t i = 0; i < nrow; i++) {
        double factor = b[i];
        for (size_t j = begin; j < end; j += DMTVM_LANES)
            *(lanes *)&x[j] += *(const lanes *)&m[i * ncol + j] * factor;
    }
}

static size_t part_begin(size_t threads, size_t thread)
{
    return share_begin(columns, ARRAY_ALIGNMENT / sizeof(double), threads, thread);
}

static void work(void *context, size_t thread, struct run *run)
{
    const struct dmtvm *d = context;
    while (run_continues(run))
        dmtvm(d->b, d->x, d->m, rows, columns, part_begin(d->threads, thread),
              part_begin(d->threads, thread + 1));
}

static void trace(const void *context, size_t thread, struct truth_tracer *tracer)
{
    const struct dmtvm *d = context;
    size_t begin = part_begin(d->threads, thread), end = part_begin(d->threads, thread + 1);
    for (size_t i = 0; i < rows; i++) {
        truth_access(tracer, B, i * sizeof(double));
        for (size_t j = begin; j < end; j += DMTVM_LANES) {
            truth_access(tracer, M, (i * columns + j) * sizeof(double));
            truth_access(tracer, X, j * sizeof(double));
            truth_access(tracer, X, j * sizeof(double));
        }
    }
}

/*
 * When the thread's rows are whole lines of x and m: a line of m (and b, but for its row's start)
 * comes back after everything else; a line of x after one row of m, the rest of x and one line of
 * b.
 */
static void whole_line_truth(struct truth *t, size_t thread, size_t line_size_index, size_t width)
{
    size_t i = line_size_index;
    uint64_t per_line = truth_line_sizes[i] / (sizeof(double) * DMTVM_LANES);
    uint64_t rows_per_line = truth_line_sizes[i] / sizeof(double);
    uint64_t x_lines = width / rows_per_line, m_lines = rows * x_lines;
    uint64_t b_lines = lines_of(0, rows * sizeof(double), truth_line_sizes[i]);
    uint64_t row = 3 * (width / DMTVM_LANES) + 1, all = rows * row; /* accesses */
    uint64_t stores = rows * (width / DMTVM_LANES);
    uint64_t line_span = 3 * (per_line - 1); /* accesses between a line's first and last in a row */
    truth_footprint(t, i, x_lines + m_lines + b_lines);

    truth_reuse(t, thread, i, M, m_lines - 1 + x_lines + b_lines, all - line_span, (double)m_lines);
    truth_reuse(t, thread, i, M, 1, 3, (double)(m_lines * (per_line - 1)));
    /* x: its load follows m's, then comes its store */
    truth_reuse(t, thread, i, X, 2 * x_lines, row - line_span - 1, (double)(rows * x_lines));
    truth_reuse(t, thread, i, X, 1, 2, (double)(rows * x_lines * (per_line - 1)));
    truth_reuse(t, thread, i, X, 0, 1, (double)stores);
    /* b: within its line one row passes; the first row of a line waits for all others */
    for (uint64_t line = 0; line < b_lines; line++) {
        uint64_t in_line = rows - line * rows_per_line;
        if (in_line > rows_per_line)
            in_line = rows_per_line;
        truth_reuse(t, thread, i, B, 2 * x_lines, row, (double)(in_line - 1));
        truth_reuse(t, thread, i, B, b_lines - 1 + x_lines + (rows - in_line + 1) * x_lines,
                    all - (in_line - 1) * row, 1);
    }
}

static void tell_truth(struct truth *t, const struct dmtvm *d)
{
    for (size_t thread = 0; thread < d->threads; thread++) {
        size_t width = part_begin(d->threads, thread + 1) - part_begin(d->threads, thread);
        for (size_t i = 0; i < TRUTH_LINE_SIZES; i++) {
            size_t per_line = truth_line_sizes[i] / sizeof(double);
            if (width % per_line == 0 && columns % per_line == 0 && rows >= 2)
                whole_line_truth(t, thread, i, width);
            else
                truth_enumerate(t, thread, i, trace, d);
        }
    }
}

static double verify(const double *x, size_t threads, const uint64_t *done)
{
    double sum = 0, checksum = 0;
    for (size_t i = 0; i < rows; i++)
        sum += (double)((i % 7 + 1) * (i % 3 + 1));
    for (size_t thread = 0; thread < threads; thread++) {
        for (size_t j = part_begin(threads, thread); j < part_begin(threads, thread + 1); j++) {
            double expected = x_start(j) + (double)done[thread] * (double)(j % 5 + 1) * sum;
            if (x[j] != expected)
                fatal("wrong result: x[%zu] is %g instead of %g", j, x[j], expected);
            checksum += x[j];
        }
    }
    return checksum;
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"rows", "N", "rows of m, elements of b", OPTION_COUNT, &rows, 1, 1 << 24},
        {"columns", "N", "columns of m, elements of x", OPTION_COUNT, &columns, 64, 1 << 24},
    };
    const struct command command = {.name = DMTVM_NAME,
                                    .purpose = "Dense matrix transposed times vector.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options,
                                    .threaded = true};
    options_parse(&command, argc, argv);
    if (columns % DMTVM_LANES != 0)
        usage_error("--columns: %llu is not a multiple of %d", (unsigned long long)columns,
                    DMTVM_LANES);
    if (columns < 32 * run_options.threads)
        usage_error("--columns: each thread needs 32");

    double *b = aligned_alloc(ARRAY_ALIGNMENT, array_size(rows * sizeof *b));
    double *x = aligned_alloc(ARRAY_ALIGNMENT, array_size(columns * sizeof *x));
    double *m = aligned_alloc(ARRAY_ALIGNMENT, array_size(rows * columns * sizeof *m));
    check_allocation(b, "b", rows * sizeof *b);
    check_allocation(x, "x", columns * sizeof *x);
    check_allocation(m, "m", rows * columns * sizeof *m);
    init(b, x, m);

    struct dmtvm d = {b, x, m, run_options.threads};
    struct truth *t = truth_create(&command);
    if (t != NULL) {
        truth_parameter(t, "rows", rows);
        truth_parameter(t, "columns", columns);
        truth_object(t, "b", b, rows * sizeof *b);
        truth_object(t, "x", x, columns * sizeof *x);
        truth_object(t, "m", m, rows * columns * sizeof *m);
        truth_setup(t, rows * columns + rows + 2 * columns);
        tell_truth(t, &d);
    }
    uint64_t done[THREADS_MAX];
    const volatile void *markers[THREADS_MAX];
    run_threads(&run_options, work, &d, done, markers);
    double checksum = verify(x, run_options.threads, done);
    truth_finish(t, &run_options, done, markers, checksum);
    free(m);
    free(x);
    free(b);
    return 0;
}
