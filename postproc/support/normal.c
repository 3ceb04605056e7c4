/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/normal.h"

#include <math.h>

double normal_quantile(double p)
{
    /* Of the tail that p is nearer to, which is known to its last digit. */
    double tail = p < 0.5 ? p : 1 - p, low = 0, high = 40;

    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;

        if (erfc(middle / sqrt(2)) / 2 > tail)
            low = middle;
        else
            high = middle;
    }
    return p < 0.5 ? -low : low;
}
