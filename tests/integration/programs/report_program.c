/* SPDX-License-Identifier: BSD-3-Clause */
/* What the profiles of the report's tests are of: line numbers are looked up, not counted on. */
#include <stdio.h>
#include <stdlib.h>

static double weights[4096];

__attribute__((noinline)) static double dot(const double *a, const double *b, long n)
{
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += a[i] * b[i % 4096]; /* mark: dot */
    return sum;
}

int main(int argc, char **argv)
{
    long n = 1000000;
    double *matrix = malloc((size_t)n * sizeof(double)); /* mark: matrix */
    double sum = 0;
    if (matrix == NULL)
        return 1;
    for (long i = 0; i < n; i++)
        matrix[i] = (double)i;
    for (int i = 0; i < 4096; i++)
        weights[i] = i;
    for (long r = 0; r < (argc > 1 ? atol(argv[1]) : 100); r++)
        sum += dot(matrix, weights, n);
    printf("%f\n", sum);
    free(matrix);
    return 0;
}
