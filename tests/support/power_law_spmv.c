/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sparse matrix times vector, rows of random (Pareto) length and columns anywhere, after a set-up
 * that makes more accesses than the two products do.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 26562, TIMES = 2, LONGEST = 1000 };

static uint64_t state = 88172645463325252u;
static double *values, *x, *y;
static int *columns;
static long *row_pointers;

static double random_unit(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

__attribute__((noinline)) static void multiply(long rows)
{
    for (long i = 0; i < rows; i++) {
        double sum = 0;
        for (long k = row_pointers[i]; k < row_pointers[i + 1]; k++)
            sum += values[k] * x[columns[k]];
        y[i] = sum;
    }
}

int main(void)
{
    long entries = 0;
    double sum = 0;

    row_pointers = malloc((ROWS + 1) * sizeof *row_pointers);
    if (!row_pointers)
        return 1;
    for (long i = 0; i < ROWS; i++) {
        long length = (long)(4 / sqrt(random_unit() + 1e-6));
        row_pointers[i] = entries;
        entries += length < LONGEST ? length : LONGEST;
    }
    row_pointers[ROWS] = entries;
    values = malloc((size_t)entries * sizeof *values);
    columns = malloc((size_t)entries * sizeof *columns);
    x = malloc(ROWS * sizeof *x);
    y = malloc(ROWS * sizeof *y);
    if (!values || !columns || !x || !y)
        return 1;
    for (long k = 0; k < entries; k++) {
        values[k] = 1;
        columns[k] = (int)(ROWS * random_unit());
    }
    for (long i = 0; i < ROWS; i++)
        x[i] = 1;
    for (int i = 0; i < TIMES; i++)
        multiply(ROWS);
    for (long i = 0; i < ROWS; i++)
        sum += y[i];
    printf("%g\n", sum);
    return sum == (double)entries ? 0 : 1;
}
