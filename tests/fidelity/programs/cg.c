/* SPDX-License-Identifier: BSD-3-Clause */
/* Conjugate gradients on a sparse matrix: the neighbours of a cube's cells and a few far ones. */
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

enum { SIDE = 48, ROWS = SIDE * SIDE * SIDE, PER_ROW = 9, STEPS = 40, SYSTEMS = 25 };

static int columns[ROWS * PER_ROW];
static double values[ROWS * PER_ROW];
static double x[ROWS], r[ROWS], p[ROWS], q[ROWS];

static void build(void)
{
    static const int step[6] = {-SIDE * SIDE, -SIDE, -1, 1, SIDE, SIDE * SIDE};
    uint64_t state = 362436069;

    for (int row = 0; row < ROWS; row++) {
        int *column = columns + (size_t)row * PER_ROW;
        double *value = values + (size_t)row * PER_ROW;
        for (int k = 0; k < 6; k++) {
            int other = row + step[k];
            column[k] = other < 0 || other >= ROWS ? row : other;
            value[k] = other < 0 || other >= ROWS ? 0 : -1;
        }
        column[6] = (int)random_below(&state, ROWS);
        column[7] = (int)random_below(&state, 1000);
        value[6] = value[7] = 1e-9;
        column[8] = row;
        value[8] = 6.5;
    }
}

static double multiply(void)
{
    double dot = 0;

#pragma omp parallel for reduction(+ : dot) schedule(static)
    for (int row = 0; row < ROWS; row++) {
        double sum = 0;
        for (int k = row * PER_ROW; k < (row + 1) * PER_ROW; k++)
            sum += values[k] * p[columns[k]];
        q[row] = sum;
        dot += sum * p[row];
    }
    return dot;
}

/* Solves for one right-hand side; returns the square of the residual. */
static double solve(int system)
{
    double rho = 0;

    for (int i = 0; i < ROWS; i++) {
        x[i] = 0;
        r[i] = p[i] = 1 + i % (7 + system);
        rho += r[i] * r[i];
    }
    for (int step = 0; step < STEPS; step++) {
        double alpha = rho / multiply(), before = rho;
        rho = 0;
#pragma omp parallel for reduction(+ : rho) schedule(static)
        for (int i = 0; i < ROWS; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            rho += r[i] * r[i];
        }
        double beta = rho / before;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < ROWS; i++)
            p[i] = r[i] + beta * p[i];
    }
    return rho;
}

int main(void)
{
    double residual = 0;

    build();
    for (int system = 0; system < SYSTEMS; system++)
        residual += solve(system);
    printf("%.1e\n", residual);
    return 0;
}
