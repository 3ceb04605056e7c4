/* SPDX-License-Identifier: BSD-3-Clause */
/* Of the misses of a whole, those of its parts. */
#include <math.h>
#include <stdlib.h>

#include "analysis/sectors/evaluation.h"
#include "support/memory.h"

struct miss_totals {
    struct subset whole;
    double *bytes;
    size_t n;
    struct results results; /* of sampled profiles */
};

struct miss_totals *analysis_miss_totals(const struct analysis *analysis, struct subset whole,
                                         const double *bytes, size_t n)
{
    struct miss_totals *totals = allocate_zeroed(1, sizeof *totals);

    totals->whole = whole;
    totals->bytes = allocate(n + 1, sizeof *totals->bytes);
    for (size_t k = 0; k < n; k++)
        totals->bytes[k] = bytes[k];
    totals->n = n;
    if (!analysis->exact)
        evaluate_sizes(analysis, whole, bytes, n, &totals->results);
    return totals;
}

void miss_totals_free(struct miss_totals *totals)
{
    if (!totals)
        return;
    free(totals->bytes);
    results_free(&totals->results);
    free(totals);
}

/* Misses of one replicate at a place, and what of them may be none, or may be more, unseen. */
struct misses {
    double seen, less, more;
};

static struct misses misses_of(const struct analysis *analysis, const struct results *results,
                               size_t place, uint32_t replicate)
{
    const struct miss_shares *shares =
        &results->shares[place * replicate_count(analysis) + replicate];
    double accesses = results->accesses[replicate];

    return (struct misses){accesses * fmin(1, shares->missed + shares->invalidated),
                           accesses * fmax(0, shares->unknown), accesses * fmax(0, shares->spared)};
}

/* A share s of `whole` misses, where its own may be `own` more or less, and the others' `others`.
 */
static double share_with(double s, double whole, double own, double others)
{
    double part = fmax(0, s * whole + own), rest = fmax(0, (1 - s) * whole + others);

    return part > 0 ? part / (part + rest) : 0;
}

static struct estimate share_at(const struct analysis *analysis, const struct miss_totals *totals,
                                const struct results *part, size_t place)
{
    uint32_t replicates = replicate_count(analysis);
    double *values = allocate(replicates, sizeof *values), floor;
    struct misses all = misses_of(analysis, &totals->results, place, 0);
    struct misses own = misses_of(analysis, part, place, 0);
    struct estimate out;

    for (uint32_t r = 0; r < replicates; r++) {
        double whole = misses_of(analysis, &totals->results, place, r).seen;

        values[r] = whole > 0 ? fmin(1, misses_of(analysis, part, place, r).seen / whole) : 0;
    }
    floor = all.seen > 0
                ? fmin(1, least_claim(analysis, part, place) * part->accesses[0] / all.seen)
                : 1;
    out = replicate_interval(analysis, values, floor, part->bursts);
    free(values);
    out.lo = share_with(out.lo, all.seen, -own.less, fmax(0, all.more - own.more));
    out.hi = share_with(out.hi, all.seen, own.more, -fmax(0, all.less - own.less));
    return out;
}

static double counted_misses(const struct analysis *analysis, struct subset subset, double bytes)
{
    struct curve_point point;

    exact_miss_ratio_curve(analysis, subset, &bytes, 1, &point);
    return exact_accesses(analysis, subset).value * point.miss_ratio.value;
}

static struct estimate counted_share(const struct analysis *analysis,
                                     const struct miss_totals *totals, struct subset part, size_t k)
{
    double all = counted_misses(analysis, totals->whole, totals->bytes[k]);
    double share = all > 0 ? fmin(1, counted_misses(analysis, part, totals->bytes[k]) / all) : 0;

    return (struct estimate){share, share, share};
}

void analysis_shares_of_misses(const struct analysis *analysis, const struct miss_totals *totals,
                               struct subset part, struct estimate *shares)
{
    struct results results;

    if (analysis->exact) {
        for (size_t k = 0; k < totals->n; k++)
            shares[k] = counted_share(analysis, totals, part, k);
        return;
    }
    evaluate_sizes(analysis, part, totals->bytes, totals->n, &results);
    for (size_t k = 0; k < totals->n; k++)
        shares[k] = share_at(analysis, totals, &results, k);
    results_free(&results);
}
