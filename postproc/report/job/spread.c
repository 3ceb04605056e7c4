/* SPDX-License-Identifier: BSD-3-Clause */
/* See spread.h. */
#include "report/job/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/compare/change.h"
#include "support/memory.h"
#include "support/normal.h"

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Of sorted values. */
static double quantile(const double *values, size_t count, double part)
{
    double at = part * (double)(count - 1);
    size_t below = (size_t)at;

    if (below + 1 >= count)
        return values[count - 1];
    return values[below] + (at - (double)below) * (values[below + 1] - values[below]);
}

static double scale_of(const double *values, size_t count, double median)
{
    double *apart = allocate_zeroed(count, sizeof(*apart)), sum = 0, scale;

    for (size_t i = 0; i < count; i++) {
        apart[i] = fabs(values[i] - median);
        sum += apart[i];
    }
    qsort(apart, count, sizeof(*apart), ascending);
    scale = 1.4826 * quantile(apart, count, 0.5);
    if (!(scale > 0))
        scale = 1.2533 * sum / (double)count;
    free(apart);
    return scale;
}

struct spread spread_of(const double *values, size_t count)
{
    struct spread spread = {.count = count};
    double *sorted;

    if (count == 0)
        return spread;
    sorted = allocate_zeroed(count, sizeof(*sorted));
    memcpy(sorted, values, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), ascending);
    spread.least = sorted[0];
    spread.lower = quantile(sorted, count, 0.25);
    spread.median = quantile(sorted, count, 0.5);
    spread.upper = quantile(sorted, count, 0.75);
    spread.most = sorted[count - 1];
    spread.scale = scale_of(sorted, count, spread.median);
    free(sorted);
    return spread;
}

double spread_score(const struct spread *spread, double value)
{
    double apart = value - spread->median;

    if (apart == 0)
        return 0;
    return spread->scale > 0 ? apart / spread->scale : copysign(INFINITY, apart);
}

static struct estimate widened(struct estimate estimate, double factor)
{
    return (struct estimate){estimate.value,
                             estimate.value - factor * (estimate.value - estimate.lo),
                             estimate.value + factor * (estimate.hi - estimate.value)};
}

/* Whether they differ by a part of the larger that matters. */
static bool matters(double a, double b)
{
    return fabs(a - b) > SPREAD_MATTERS * fmax(fabs(a), fabs(b));
}

bool spread_is_apart(const struct spread *spread, struct estimate estimate, double factor)
{
    struct estimate wide = widened(estimate, factor);

    return spread->count >= SPREAD_VALUES_MIN &&
           fabs(spread_score(spread, estimate.value)) > SPREAD_OUTLIER &&
           matters(estimate.value, spread->median) &&
           (wide.lo > spread->median || wide.hi < spread->median);
}

double interval_factor(size_t questions)
{
    const double tail = 0.025; /* on each side, of a single one */

    return questions > 1 ? normal_quantile(tail / (double)questions) / normal_quantile(tail) : 1;
}

bool estimates_are_alike(struct estimate a, struct estimate b, double factor)
{
    struct estimate apart = widened(estimate_difference(a, b), factor);

    return (apart.lo <= 0 && apart.hi >= 0) || !matters(a.value, b.value);
}
