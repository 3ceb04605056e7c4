/* SPDX-License-Identifier: BSD-3-Clause */
/* See homogeneity.h. */
#include "analysis/curves/homogeneity.h"

#include <math.h>

double chi_square_deviate(double square, double freedom)
{
    double spread = 2 / (9 * freedom);

    return (cbrt(square / freedom) - (1 - spread)) / sqrt(spread);
}

static double sum_of(const uint32_t *counts, unsigned classes)
{
    double sum = 0;

    for (unsigned i = 0; i < classes; i++)
        sum += counts[i];
    return sum;
}

double homogeneity_deviate(const uint32_t *a, const uint32_t *b, unsigned classes)
{
    double ratio = sqrt(sum_of(b, classes) / sum_of(a, classes));
    double square = 0, rest_a = 0, rest_b = 0;
    int used = 0;

    for (unsigned i = 0; i <= classes; i++) {
        double x = i < classes ? a[i] : rest_a;
        double y = i < classes ? b[i] : rest_b;

        if (i < classes && x + y < HOMOGENEITY_EXPECTED_MIN) {
            rest_a += x;
            rest_b += y;
        } else if (x + y > 0) {
            double d = ratio * x - y / ratio;
            square += d * d / (x + y);
            used++;
        }
    }
    return used < 2 ? -INFINITY : chi_square_deviate(square, used - 1);
}
