/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replicates: Poisson bootstrap over whole samples (Hanley and MacGibbon 2006), and over the rates
 * of loops as their readings allow. Drawn by hashing (seed, replicate, index), so that a subset
 * sees the same draws as the whole and the result does not depend on the order of questions.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/internal.h"

/* Neither the index of a sample nor the complement of a loop's. */
#define COMMON_DRAW ((uint64_t)1 << 63)

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t draw(const struct analysis *analysis, uint32_t replicate, uint64_t index)
{
    return mix(mix(analysis->options.seed + replicate) ^ (index * 0xd1342543de82ef95u));
}

/* Poisson with mean 1, by inversion of its distribution function times 2^32. */
static unsigned poisson(uint32_t uniform)
{
    static const uint32_t below[] = {1580030169, 3160060337, 3950075422, 4213413783,
                                     4279248373, 4292415292, 4294609778, 4294923276};
    unsigned n = 0;

    while (n < sizeof below / sizeof *below && uniform >= below[n])
        n++;
    return n;
}

static double normal(uint64_t bits)
{
    double u = ((double)(bits >> 32) + 0.5) / 4294967296.0;
    double v = ((double)(uint32_t)bits + 0.5) / 4294967296.0;

    return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

uint32_t replicate_count(const struct analysis *analysis)
{
    return 1 + analysis->options.bootstrap +
           (analysis->line_size > analysis->run_line_size ? REST_GUESSES : 0) +
           (analysis->line_size > analysis->run_line_size ? 0 : 1) + analysis->lines_counted +
           analysis->invalidations_seen;
}

bool replicate_unequal_lines(const struct analysis *analysis, uint32_t replicate)
{
    return analysis->line_size <= analysis->run_line_size &&
           replicate == analysis->options.bootstrap + 1 + analysis->lines_counted;
}

/* Windows count lines of the run's size: there are no extremes of larger lines then. */
bool replicate_persistent(const struct analysis *analysis, uint32_t replicate)
{
    return analysis->lines_counted && replicate == analysis->options.bootstrap + 1;
}

bool replicate_one_visit(const struct analysis *analysis, uint32_t replicate)
{
    return analysis->invalidations_seen && replicate + 1 == replicate_count(analysis);
}

enum rest_guess replicate_rest(const struct analysis *analysis, uint32_t replicate)
{
    uint32_t first = analysis->options.bootstrap + 1;

    if (analysis->line_size <= analysis->run_line_size || replicate < first ||
        replicate >= first + REST_GUESSES)
        return REST_LIKE_OTHERS;
    return REST_TOGETHER + (replicate - first);
}

static bool is_extreme(const struct analysis *analysis, uint32_t replicate)
{
    return replicate > analysis->options.bootstrap;
}

int replicates_create(struct analysis *analysis)
{
    uint32_t replicates = analysis->options.bootstrap + 1;
    size_t loops = analysis->rates.count;

    analysis->rate_factors = malloc((replicates * loops + 1) * sizeof *analysis->rate_factors);
    analysis->times_drawn = malloc(replicates * analysis->count + 1);
    if (!analysis->rate_factors || !analysis->times_drawn)
        return -1;
    for (uint32_t r = 0; r < replicates; r++)
        for (size_t i = 0; i < analysis->count; i++)
            analysis->times_drawn[r * analysis->count + i] =
                r ? (uint8_t)poisson((uint32_t)(draw(analysis, r, i) >> 32)) : 1;
    for (uint32_t r = 0; r < replicates; r++) {
        /* The errors that all rates have in common do not average out over loops. */
        double common = r ? normal(draw(analysis, r, COMMON_DRAW)) : 0;
        for (size_t i = 0; i < loops; i++) {
            const struct loop_rate *loop = &analysis->rates.loops[i];
            double own = r ? normal(draw(analysis, r, ~(uint64_t)i)) : 0;
            analysis->rate_factors[r * loops + i] =
                (float)exp(loop->log_deviation * own + loop->common_deviation * common);
        }
    }
    return 0;
}

const float *replicate_rate_factors(const struct analysis *analysis, uint32_t replicate)
{
    return is_extreme(analysis, replicate)
               ? NULL
               : &analysis->rate_factors[replicate * analysis->rates.count];
}

double replicate_rate_factor(const struct analysis *analysis, uint32_t replicate, uint32_t loop)
{
    const float *factors = replicate_rate_factors(analysis, replicate);

    return factors ? (double)factors[loop] : 1;
}

const uint8_t *replicate_draws(const struct analysis *analysis, uint32_t replicate)
{
    return is_extreme(analysis, replicate) ? NULL
                                           : &analysis->times_drawn[replicate * analysis->count];
}

unsigned replicate_times_drawn(const struct analysis *analysis, uint32_t replicate, uint32_t sample)
{
    const uint8_t *drawn = replicate_draws(analysis, replicate);

    return drawn ? drawn[sample] : 1;
}

double replicate_weight(const struct analysis *analysis, uint32_t replicate, uint32_t sample)
{
    return analysis->samples[sample].weight *
           replicate_rate_factor(analysis, replicate, analysis->samples[sample].loop) *
           replicate_times_drawn(analysis, replicate, sample);
}

/* Widens an interval by what an extreme says: a bound where nothing was watched, else a doubt. */
static void widen(const struct analysis *analysis, const double *values, uint32_t replicate,
                  double value, double half, struct estimate *interval)
{
    double above = values[replicate] - value, below = -above;

    if (replicate_rest(analysis, replicate) == REST_LIKE_OTHERS)
        above = below = fabs(above);
    interval->lo = fmin(interval->lo, value - half - below);
    interval->hi = fmax(interval->hi, value + half + above);
}

struct estimate replicate_interval(const struct analysis *analysis, const double *values,
                                   double floor)
{
    uint32_t n = analysis->options.bootstrap, count = replicate_count(analysis);
    double squares = 0, value = fmin(1, fmax(0, values[0])); /* rounding */

    for (uint32_t r = 1; r <= n; r++)
        squares += (values[r] - value) * (values[r] - value);
    /* Around the estimate, not around the replicates' mean: their bias counts as error. */
    double half = n > 1 ? 1.96 * sqrt(squares / (double)n) : 0;
    struct estimate out = {value, value - half, value + half};
    for (uint32_t r = n + 1; r < count; r++) {
        if (analysis->invalidations_seen && r + 1 == count) { /* it bounds from above */
            double more = value > 0 ? fmax(1, values[r] / value) : 1;
            out.hi = fmax(out.hi, (value + half) * more);
            continue;
        }
        widen(analysis, values, r, value, half, &out);
    }
    /* Few observations cannot exclude what none of them shows. */
    if (value < floor)
        out.hi = fmax(out.hi, floor);
    if (value > 1 - floor)
        out.lo = fmin(out.lo, 1 - floor);
    out.lo = fmax(out.lo, 0);
    out.hi = fmin(out.hi, 1);
    return out;
}

struct estimate replicate_spread(const struct analysis *analysis, const double *values)
{
    uint32_t n = analysis->options.bootstrap, count = replicate_count(analysis);
    double squares = 0, value = values[0], half;

    for (uint32_t r = 1; r <= n; r++)
        squares += (values[r] - value) * (values[r] - value);
    half = n > 1 ? 1.96 * sqrt(squares / (double)n) : 0;
    struct estimate out = {value, value - half, value + half};
    for (uint32_t r = n + 1; r < count; r++)
        widen(analysis, values, r, value, half, &out);
    return out;
}
