/* SPDX-License-Identifier: BSD-3-Clause */
/* See open_cost.h. */
#include "analysis/open_cost.h"

#include <math.h>

/* Accesses that hit, in the time that one to an open line takes. */
#define ACCESSES_PER_OPEN 40.0
/* The exponent before anything is known; beyond the largest, few loops that differ otherwise would
 * tell more than they can. */
#define EXPONENT 1.0
#define EXPONENT_DEVIATION 0.4
#define EXPONENT_MAX 2.0

double open_cost_log(const struct record_burst *burst)
{
    return burst->touches ? log1p(ACCESSES_PER_OPEN * burst->open / burst->touches) : 0;
}

void open_cost_add(struct open_cost_fit *fit, double log_rate, double log_open, double deviation)
{
    double weight = 1 / (deviation * deviation);

    fit->weight += weight;
    fit->open += weight * log_open;
    fit->rate += weight * log_rate;
    fit->open_squared += weight * log_open * log_open;
    fit->product += weight * log_open * log_rate;
}

/* Least squares of ln(rate) = b - c z, with both priors as observations: two normal equations. */
double open_cost_exponent(const struct open_cost_fit *fit, double log_base, double deviation)
{
    double base = 1 / (deviation * deviation);
    double exponent = 1 / (EXPONENT_DEVIATION * EXPONENT_DEVIATION);
    double weight = fit->weight + base, rate = fit->rate + base * log_base;
    double squares = fit->open_squared + exponent, product = exponent * EXPONENT - fit->product;
    double determinant = weight * squares - fit->open * fit->open;
    double fitted = (weight * product + fit->open * rate) / determinant;

    return fmin(fmax(fitted, 0), EXPONENT_MAX);
}
