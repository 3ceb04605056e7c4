/* SPDX-License-Identifier: BSD-3-Clause */
/* Jacobi relaxation of a square with a hot edge: two grids take turns, the residual is a reduction.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 900, SWEEPS = 1200 };

static double sweep(double *restrict to, const double *restrict from)
{
    double residual = 0;

#pragma omp parallel for reduction(+ : residual) schedule(static)
    for (int y = 1; y < SIDE - 1; y++) {
        for (int x = 1; x < SIDE - 1; x++) {
            const double *here = from + (size_t)y * SIDE + x;
            double mean = 0.25 * (here[-1] + here[1] + here[-SIDE] + here[SIDE]);
            residual += fabs(mean - *here);
            to[(size_t)y * SIDE + x] = mean;
        }
    }
    return residual;
}

int main(void)
{
    double *grid[2], residual = 0;

    for (int i = 0; i < 2; i++) {
        grid[i] = calloc((size_t)SIDE * SIDE, sizeof *grid[i]);
        if (!grid[i])
            return 1;
        for (int x = 0; x < SIDE; x++)
            grid[i][x] = 100;
    }
    for (int i = 0; i < SWEEPS; i++)
        residual = sweep(grid[(i + 1) % 2], grid[i % 2]);
    printf("%.6f\n", residual);
    free(grid[0]);
    free(grid[1]);
    return 0;
}
