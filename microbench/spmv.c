/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sparse matrix times vector, y = A x, with A in compressed sparse rows, read from a Matrix Market
 * file. values, column_indices, row_pointers and y stream by; how well x is reused is up to the
 * pattern of the matrix. Threads divide the rows by the number of entries.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/timing.h"
#include "common/truth.h"
#include "matrix_market.h"

static struct run_options run_options = {.threads = 1};

enum { VALUES, COLUMN_INDICES, ROW_POINTERS, X, Y }; /* numbers of the objects in the truth */

struct spmv {
    double *values;
    int32_t *column_indices;
    int64_t *row_pointers;
    double *x, *y;
    size_t rows, columns, entries;
    size_t first_row[THREADS_MAX + 1];
};

__attribute__((noinline)) static void spmv(const double *restrict values,
                                           const int32_t *restrict column_indices,
                                           const int64_t *restrict row_pointers,
                                           const double *restrict x, double *restrict y,
                                           size_t first_row, size_t end_row)
{
    int64_t k = row_pointers[first_row];
    for (size_t i = first_row; i < end_row; i++) {
        int64_t end = row_pointers[i + 1];
        double sum = 0;
        for (; k < end; k++)
            sum += values[k] * x[column_indices[k]];
        y[i] = sum;
    }
}

/* From the entries of a file to compressed rows: a stable counting sort by row. */
static void compress(const struct coordinate_matrix *m, struct spmv *s)
{
    memset(s->row_pointers, 0, (s->rows + 1) * sizeof *s->row_pointers);
    for (size_t k = 0; k < m->entries; k++)
        s->row_pointers[m->row[k] + 1]++;
    for (size_t i = 0; i < s->rows; i++)
        s->row_pointers[i + 1] += s->row_pointers[i];
    for (size_t k = 0; k < m->entries; k++) {
        int64_t to = s->row_pointers[m->row[k]]++;
        s->values[to] = m->value[k];
        s->column_indices[to] = (int32_t)m->column[k];
    }
    memmove(s->row_pointers + 1, s->row_pointers, s->rows * sizeof *s->row_pointers);
    s->row_pointers[0] = 0;
}

static double x_value(size_t column)
{
    return (double)(column % 3 + 1);
}

static void divide_rows(struct spmv *s, size_t threads)
{
    size_t row = 0;
    for (size_t thread = 0; thread < threads; thread++) {
        int64_t target = (int64_t)(s->entries * thread / threads);
        while (row < s->rows && s->row_pointers[row] < target)
            row++;
        s->first_row[thread] = row;
    }
    s->first_row[threads] = s->rows;
}

static void work(void *context, size_t thread, struct run *run)
{
    const struct spmv *s = context;
    while (run_continues(run))
        spmv(s->values, s->column_indices, s->row_pointers, s->x, s->y, s->first_row[thread],
             s->first_row[thread + 1]);
}

static void trace(const void *context, size_t thread, struct truth_tracer *tracer)
{
    const struct spmv *s = context;
    size_t first_row = s->first_row[thread];
    int64_t k = s->row_pointers[first_row];
    truth_access(tracer, ROW_POINTERS, first_row * sizeof *s->row_pointers);
    for (size_t i = first_row; i < s->first_row[thread + 1]; i++) {
        truth_access(tracer, ROW_POINTERS, (i + 1) * sizeof *s->row_pointers);
        for (; k < s->row_pointers[i + 1]; k++) {
            truth_access(tracer, COLUMN_INDICES, (size_t)k * sizeof *s->column_indices);
            truth_access(tracer, X, (size_t)s->column_indices[k] * sizeof *s->x);
            truth_access(tracer, VALUES, (size_t)k * sizeof *s->values);
        }
        truth_access(tracer, Y, i * sizeof *s->y);
    }
}

static void tell_truth(struct truth *t, const struct spmv *s)
{
    truth_parameter(t, "rows", s->rows);
    truth_parameter(t, "columns", s->columns);
    truth_parameter(t, "entries", s->entries);
    truth_object(t, "values", s->values, s->entries * sizeof *s->values);
    truth_object(t, "column_indices", s->column_indices, s->entries * sizeof *s->column_indices);
    truth_object(t, "row_pointers", s->row_pointers, (s->rows + 1) * sizeof *s->row_pointers);
    truth_object(t, "x", s->x, s->columns * sizeof *s->x);
    truth_object(t, "y", s->y, s->rows * sizeof *s->y);
    for (size_t thread = 0; thread < run_options.threads; thread++) {
        for (size_t i = 0; i < TRUTH_LINE_SIZES; i++)
            truth_enumerate(t, thread, i, trace, s);
    }
}

/* sum of y against the sum over the entries as the file gave them. */
static double verify(const struct spmv *s, double expected, double magnitude)
{
    double sum = 0;
    for (size_t i = 0; i < s->rows; i++)
        sum += s->y[i];
    if (fabs(sum - expected) > 1e-9 * magnitude)
        fatal("wrong result: y sums up to %.17g instead of %.17g", sum, expected);
    return sum;
}

int main(int argc, char **argv)
{
    const struct command command = {.name = "spmv",
                                    .purpose = "Sparse matrix (Matrix Market file) times vector.",
                                    .operand = "MATRIX.mtx",
                                    .run = &run_options,
                                    .threaded = true};
    const char *path = options_parse(&command, argc, argv);
    struct coordinate_matrix matrix = matrix_market_read(path);
    static struct spmv s;
    s.rows = matrix.rows;
    s.columns = matrix.columns;
    s.entries = matrix.entries;

    double *values = aligned_alloc(ARRAY_ALIGNMENT, array_size(s.entries * sizeof *values));
    int32_t *column_indices =
        aligned_alloc(ARRAY_ALIGNMENT, array_size(s.entries * sizeof *column_indices));
    int64_t *row_pointers =
        aligned_alloc(ARRAY_ALIGNMENT, array_size((s.rows + 1) * sizeof *row_pointers));
    double *x = aligned_alloc(ARRAY_ALIGNMENT, array_size(s.columns * sizeof *x));
    double *y = aligned_alloc(ARRAY_ALIGNMENT, array_size(s.rows * sizeof *y));
    check_allocation(values, "values", s.entries * sizeof *values);
    check_allocation(column_indices, "column_indices", s.entries * sizeof *column_indices);
    check_allocation(row_pointers, "row_pointers", (s.rows + 1) * sizeof *row_pointers);
    check_allocation(x, "x", s.columns * sizeof *x);
    check_allocation(y, "y", s.rows * sizeof *y);
    s.values = values;
    s.column_indices = column_indices;
    s.row_pointers = row_pointers;
    s.x = x;
    s.y = y;
    compress(&matrix, &s);
    double expected = 0, magnitude = 0;
    for (size_t k = 0; k < matrix.entries; k++) {
        expected += matrix.value[k] * x_value(matrix.column[k]);
        magnitude += fabs(matrix.value[k]) * x_value(matrix.column[k]);
    }
    coordinate_matrix_free(&matrix);
    for (size_t j = 0; j < s.columns; j++)
        x[j] = x_value(j);
    divide_rows(&s, run_options.threads);

    struct truth *t = truth_create(&command);
    if (t != NULL)
        tell_truth(t, &s);
    uint64_t done[THREADS_MAX];
    const volatile void *markers[THREADS_MAX];
    run_threads(&run_options, work, &s, done, markers);
    double checksum = verify(&s, expected, magnitude);
    truth_finish(t, &run_options, done, markers, checksum);
    free(y);
    free(x);
    free(row_pointers);
    free(column_indices);
    free(values);
    return 0;
}
