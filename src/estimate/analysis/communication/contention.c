/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/communication/contention.h"

#include <math.h>

const struct estimate line_transfer_ns = {.value = 100, .lo = 20, .hi = 500};

static double stores_of(const struct line_user *others, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += others[i].stores;
    return sum;
}

/* Of a thread that loads before it stores, one transfer brings the line for both. */
static double visits_of(const struct line_user *others, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += fmax(others[i].loads, others[i].stores);
    return sum;
}

/* P(something that comes at this rate does not come in the gap), whose length is exponential. */
static double nothing_comes(double rate, double gap_ns)
{
    return 1 / (1 + rate * gap_ns);
}

struct gap_outcome contention_gap(const struct line_user *others, size_t n, double gap_ns)
{
    return (struct gap_outcome){.ends = 1 - nothing_comes(stores_of(others, n), gap_ns),
                                .transfers = 1 - nothing_comes(visits_of(others, n), gap_ns)};
}

double contention_reads(const struct line_user *others, size_t n, size_t reader, double gap_ns)
{
    double both = others[reader].loads + stores_of(others, n) - others[reader].stores;

    return others[reader].loads * gap_ns * nothing_comes(both, gap_ns);
}

double contention_taken(const struct line_user *others, size_t n, size_t reader, double gap_ns)
{
    double stores = stores_of(others, n), rest = stores - others[reader].stores;

    return fmax(0,
                nothing_comes(stores, gap_ns) - nothing_comes(rest + others[reader].loads, gap_ns));
}

double contention_taken_by(const struct line_user *others, size_t n, size_t reader, size_t writer,
                           double gap_ns)
{
    double stores = stores_of(others, n);

    if (others[reader].stores > 0 || writer == reader)
        return 0;
    return others[writer].stores * gap_ns *
           (nothing_comes(stores, gap_ns) - nothing_comes(stores + others[reader].loads, gap_ns));
}

double contention_most(const struct line_user *others, size_t n, double gap_ns)
{
    return fmin(1, visits_of(others, n) * gap_ns);
}

struct estimate contention_overlap(double met, double expected)
{
    const double z = 1.96;
    double n = fmax(met, expected), p, middle, half;

    if (!(n > 0))
        return (struct estimate){1, 0, 1};
    p = met / n;
    middle = (p + z * z / (2 * n)) / (1 + z * z / n);
    half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    /* Half an observation of either kind: none of a few does not mean never. */
    return (struct estimate){(met + .5) / (n + .5) > 1 ? 1 : (met + .5) / (n + .5),
                             fmax(0, met > 0 ? middle - half : 0), fmin(1, middle + half)};
}
