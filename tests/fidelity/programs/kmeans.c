/* SPDX-License-Identifier: BSD-3-Clause */
/* Lloyd's k-means: points stream by, centres stay; each thread adds up its part of the new centres.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum { POINTS = 100 * 1000, DIMENSIONS = 8, CENTRES = 40, STEPS = 100 };

static float points[POINTS][DIMENSIONS];
static float centres[CENTRES][DIMENSIONS];
static int nearest[POINTS];

static int find_nearest(const float *point)
{
    float least = 1e30f;
    int best = 0;

    for (int c = 0; c < CENTRES; c++) {
        float distance = 0;
        for (int d = 0; d < DIMENSIONS; d++) {
            float difference = point[d] - centres[c][d];
            distance += difference * difference;
        }
        if (distance < least) {
            least = distance;
            best = c;
        }
    }
    return best;
}

int main(void)
{
    uint64_t state = 521288629;
    double check = 0;

    for (int i = 0; i < POINTS; i++) {
        for (int d = 0; d < DIMENSIONS; d++)
            points[i][d] = (float)random_below(&state, 1000) + (float)(i % CENTRES * (d + 1) * 9);
    }
    for (int c = 0; c < CENTRES; c++)
        memcpy(centres[c], points[c * 1001 % POINTS], sizeof centres[c]);
    for (int step = 0; step < STEPS; step++) {
        float sums[CENTRES][DIMENSIONS] = {{0}};
        int counts[CENTRES] = {0};
#pragma omp parallel for schedule(static) reduction(+ : sums, counts)
        for (int i = 0; i < POINTS; i++) {
            nearest[i] = find_nearest(points[i]);
            counts[nearest[i]]++;
            for (int d = 0; d < DIMENSIONS; d++)
                sums[nearest[i]][d] += points[i][d];
        }
        for (int c = 0; c < CENTRES; c++) {
            for (int d = 0; d < DIMENSIONS && counts[c]; d++)
                centres[c][d] = sums[c][d] / (float)counts[c];
        }
    }
    for (int c = 0; c < CENTRES; c++)
        check += centres[c][0];
    printf("%.0f\n", check);
    return 0;
}
