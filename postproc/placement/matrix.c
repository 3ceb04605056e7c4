/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/matrix.h"

#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

/* Each pair stands in two rows. */
static void count_rows(struct communication_matrix *matrix, const struct traffic_pair *pairs,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].a == pairs[i].b || !(pairs[i].weight > 0))
            continue;
        matrix->begin[pairs[i].a + 1]++;
        matrix->begin[pairs[i].b + 1]++;
    }
    for (size_t i = 0; i < matrix->threads; i++)
        matrix->begin[i + 1] += matrix->begin[i];
}

static int compare_columns(const void *left, const void *right)
{
    const struct matrix_entry *a = left, *b = right;

    return (a->column > b->column) - (a->column < b->column);
}

/* Sorts the rows and adds up what stands there several times. */
static void merge_rows(struct communication_matrix *matrix)
{
    size_t kept = 0, from = 0;

    for (size_t row = 0; row < matrix->threads; row++) {
        size_t to = matrix->begin[row + 1], first = kept;

        if (to > from)
            qsort(&matrix->entries[from], to - from, sizeof(*matrix->entries), compare_columns);
        for (size_t i = from; i < to; i++) {
            if (kept > first && matrix->entries[kept - 1].column == matrix->entries[i].column)
                matrix->entries[kept - 1].weight += matrix->entries[i].weight;
            else
                matrix->entries[kept++] = matrix->entries[i];
        }
        from = to;
        matrix->begin[row + 1] = kept;
    }
}

struct communication_matrix *matrix_create(size_t threads, const struct traffic_pair *pairs,
                                           size_t count)
{
    struct communication_matrix *matrix = allocate_zeroed(1, sizeof(*matrix));
    size_t *next = allocate_zeroed(threads + 1, sizeof(*next));

    matrix->threads = threads;
    matrix->begin = allocate_zeroed(threads + 1, sizeof(*matrix->begin));
    count_rows(matrix, pairs, count);
    matrix->entries = allocate_zeroed(matrix->begin[threads] + 1, sizeof(*matrix->entries));
    memcpy(next, matrix->begin, threads * sizeof(*next));
    for (size_t i = 0; i < count; i++) {
        const struct traffic_pair *pair = &pairs[i];

        if (pair->a == pair->b || !(pair->weight > 0))
            continue;
        matrix->entries[next[pair->a]++] = (struct matrix_entry){pair->b, pair->weight};
        matrix->entries[next[pair->b]++] = (struct matrix_entry){pair->a, pair->weight};
        matrix->total += pair->weight;
    }
    free(next);
    merge_rows(matrix);
    return matrix;
}

void matrix_free(struct communication_matrix *matrix)
{
    if (matrix == NULL)
        return;
    free(matrix->begin);
    free(matrix->entries);
    free(matrix);
}

double matrix_weight(const struct communication_matrix *matrix, uint32_t a, uint32_t b)
{
    size_t low = matrix->begin[a], high = matrix->begin[a + 1];

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (matrix->entries[middle].column < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low < matrix->begin[a + 1] && matrix->entries[low].column == b
               ? matrix->entries[low].weight
               : 0;
}

double matrix_heterogeneity(const struct communication_matrix *matrix)
{
    double largest = 0, sum_of_variances = 0;
    size_t others = matrix->threads - 1;

    if (matrix->threads < 3)
        return 0;
    for (size_t i = 0; i < matrix->begin[matrix->threads]; i++)
        if (matrix->entries[i].weight > largest)
            largest = matrix->entries[i].weight;
    if (largest <= 0)
        return 0;
    for (size_t row = 0; row < matrix->threads; row++) {
        double sum = 0, squares = 0, mean;

        for (size_t i = matrix->begin[row]; i < matrix->begin[row + 1]; i++)
            sum += 100 * matrix->entries[i].weight / largest;
        mean = sum / (double)others;
        /* Cells that are not stored are 0. */
        squares = mean * mean * (double)(others - (matrix->begin[row + 1] - matrix->begin[row]));
        for (size_t i = matrix->begin[row]; i < matrix->begin[row + 1]; i++) {
            double difference = 100 * matrix->entries[i].weight / largest - mean;

            squares += difference * difference;
        }
        sum_of_variances += squares / (double)(others - 1);
    }
    return sum_of_variances / (double)matrix->threads;
}
