/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dense matrix product c = a b of n x n matrices: naive (each element a dot product, walking down
 * the columns of b) or in blocks that fit a cache. Threads divide the rows of a and c.
 */
#include <stdlib.h>

#include "common/options.h"
#include "common/timing.h"
#include "common/truth.h"

static uint64_t n = 256, block = 32;
static bool naive;
static struct run_options run_options = {.threads = 1};

enum { A, B, C }; /* numbers of the objects in the truth */

struct matmul {
    const double *a, *b;
    double *c;
};

__attribute__((noinline)) static void matmul_naive(const double *restrict a,
                                                   const double *restrict b, double *restrict c,
                                                   size_t size, size_t first_row, size_t end_row)
{
    for (size_t i = first_row; i < end_row; i++) {
        for (size_t j = 0; j < size; j++) {
            double sum = 0;
            for (size_t k = 0; k < size; k++)
                sum += a[i * size + k] * b[k * size + j];
            c[i * size + j] = sum;
        }
    }
}

static size_t block_end(size_t begin, size_t end)
{
    return begin + block < end ? begin + block : end;
}

/* One block of b times the columns of a that meet it, added to c. */
__attribute__((noinline)) static void multiply_block(const double *restrict a,
                                                     const double *restrict b, double *restrict c,
                                                     size_t size, size_t first_row, size_t end_row,
                                                     size_t k_begin, size_t k_end, size_t j_begin,
                                                     size_t j_end)
{
    for (size_t i = first_row; i < end_row; i++) {
        for (size_t k = k_begin; k < k_end; k++) {
            double factor = a[i * size + k];
            for (size_t j = j_begin; j < j_end; j++)
                c[i * size + j] += factor * b[k * size + j];
        }
    }
}

static void matmul_blocked(const struct matmul *m, size_t first_row, size_t end_row)
{
    for (size_t ii = first_row; ii < end_row; ii += block) {
        for (size_t kk = 0; kk < n; kk += block) {
            for (size_t jj = 0; jj < n; jj += block)
                multiply_block(m->a, m->b, m->c, n, ii, block_end(ii, end_row), kk,
                               block_end(kk, n), jj, block_end(jj, n));
        }
    }
}

static size_t part_begin(size_t thread)
{
    return share_begin(n, 1, run_options.threads, thread);
}

static void work(void *context, size_t thread, struct run *run)
{
    const struct matmul *m = context;
    while (run_continues(run)) {
        if (naive)
            matmul_naive(m->a, m->b, m->c, n, part_begin(thread), part_begin(thread + 1));
        else
            matmul_blocked(m, part_begin(thread), part_begin(thread + 1));
    }
}

static void trace_naive(const void *context, size_t thread, struct truth_tracer *tracer)
{
    (void)context;
    for (size_t i = part_begin(thread); i < part_begin(thread + 1); i++) {
        for (size_t j = 0; j < n; j++) {
            for (size_t k = 0; k < n; k++) {
                truth_access(tracer, A, (i * n + k) * sizeof(double));
                truth_access(tracer, B, (k * n + j) * sizeof(double));
            }
            truth_access(tracer, C, (i * n + j) * sizeof(double));
        }
    }
}

static void trace_block(struct truth_tracer *tracer, size_t first_row, size_t end_row,
                        size_t k_begin, size_t j_begin)
{
    for (size_t i = first_row; i < end_row; i++) {
        for (size_t k = k_begin; k < block_end(k_begin, n); k++) {
            truth_access(tracer, A, (i * n + k) * sizeof(double));
            for (size_t j = j_begin; j < block_end(j_begin, n); j++) {
                truth_access(tracer, B, (k * n + j) * sizeof(double));
                truth_access(tracer, C, (i * n + j) * sizeof(double));
                truth_access(tracer, C, (i * n + j) * sizeof(double));
            }
        }
    }
}

static void trace_blocked(const void *context, size_t thread, struct truth_tracer *tracer)
{
    (void)context;
    size_t end_row = part_begin(thread + 1);
    for (size_t ii = part_begin(thread); ii < end_row; ii += block) {
        for (size_t kk = 0; kk < n; kk += block) {
            for (size_t jj = 0; jj < n; jj += block)
                trace_block(tracer, ii, block_end(ii, end_row), kk, jj);
        }
    }
}

/* a[i][k] = u(i) v(k) and b[k][j] = v(k) u(j): whole numbers, so that sums are exact. */
static double factor_u(size_t i)
{
    return (double)(i % 4 + 1);
}

static double factor_v(size_t k)
{
    return (double)(k % 3 + 1);
}

/* Blocks add to what c starts with, which is factor_u(j). */
static double verify(const double *c, const uint64_t *done)
{
    double sum = 0, checksum = 0;
    for (size_t k = 0; k < n; k++)
        sum += factor_v(k) * factor_v(k);
    for (size_t thread = 0; thread < run_options.threads; thread++) {
        double times = naive ? (done[thread] > 0) : (double)done[thread];
        for (size_t i = part_begin(thread); i < part_begin(thread + 1); i++) {
            for (size_t j = 0; j < n; j++) {
                double expected = times * factor_u(i) * factor_u(j) * sum;
                if (!naive || times == 0)
                    expected += factor_u(j);
                if (c[i * n + j] != expected)
                    fatal("wrong result: c[%zu][%zu] is %g instead of %g", i, j, c[i * n + j],
                          expected);
                checksum += c[i * n + j];
            }
        }
    }
    return checksum;
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"size", "N", "rows and columns of the matrices", OPTION_COUNT, &n, 1, 1 << 15},
        {"naive", NULL, "without blocks", OPTION_FLAG, &naive, 0, 0},
        {"block", "B", "rows and columns of a block", OPTION_COUNT, &block, 1, 1 << 15},
    };
    const struct command command = {.name = "matmul",
                                    .purpose = "Dense matrix product, in blocks or naive.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options,
                                    .threaded = true};
    options_parse(&command, argc, argv);
    size_t bytes = n * n * sizeof(double);
    double *a = aligned_alloc(ARRAY_ALIGNMENT, array_size(bytes));
    double *b = aligned_alloc(ARRAY_ALIGNMENT, array_size(bytes));
    double *c = aligned_alloc(ARRAY_ALIGNMENT, array_size(bytes));
    check_allocation(a, "a", bytes);
    check_allocation(b, "b", bytes);
    check_allocation(c, "c", bytes);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            a[i * n + j] = factor_u(i) * factor_v(j);
            b[i * n + j] = factor_v(i) * factor_u(j);
            c[i * n + j] = factor_u(j);
        }
    }
    struct matmul m = {a, b, c};

    struct truth *t = truth_create(&command);
    if (t != NULL) {
        truth_parameter(t, "size", n);
        truth_parameter_text(t, "variant", naive ? "naive" : "blocked");
        if (!naive)
            truth_parameter(t, "block", block);
        truth_object(t, "a", a, bytes);
        truth_object(t, "b", b, bytes);
        truth_object(t, "c", c, bytes);
        truth_setup(t, 4 * n * n);
        for (size_t thread = 0; thread < run_options.threads; thread++) {
            for (size_t i = 0; i < TRUTH_LINE_SIZES; i++)
                truth_enumerate(t, thread, i, naive ? trace_naive : trace_blocked, &m);
        }
    }
    uint64_t done[THREADS_MAX];
    const volatile void *markers[THREADS_MAX];
    run_threads(&run_options, work, &m, done, markers);
    double checksum = verify(c, done);
    truth_finish(t, &run_options, done, markers, checksum);
    free(c);
    free(b);
    free(a);
    return 0;
}
