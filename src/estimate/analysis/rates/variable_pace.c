/* SPDX-License-Identifier: BSD-3-Clause */
/* See variable_pace.h. */
#include "analysis/rates/variable_pace.h"

#include <math.h>

/* Readings scatter by this at least. */
#define LEAST_SCATTER 0.01
/* Readings that a regression needs: with two unknowns, three remain to contradict it. */
enum { REGRESSION_LEAST = 5 };
/* It explains the readings if they scatter about it by no more than this, as a share of the pace,
 * and if either little of their scatter is left, or the pace without the counter is hardly any: it
 * counts most of what the variable moves by. */
#define EXPLAINED_SCATTER 0.25
#define EXPLAINED_SHARE 0.1
#define HARDLY_ANY 0.25
/* The counter's own pace must differ by this share between readings: by less it differs for what
 * looks cost, and then its part cannot be told from the pace. */
#define COUNTER_SCATTER 0.1
/* Paces tried, of the readings'; and readings that are looked at for that. */
enum { PACES_TRIED = 16, READINGS_TRIED = 256, SCATTERS = 3, TIMES = 7 };
/* Scatter of a reading that was not set back, ln. */
static const double scatters[SCATTERS] = {0.05, 0.15, 0.4};
/* Mean time to the next setting back, ns. */
static const double times[TIMES] = {2e4, 6e4, 2e5, 6e5, 2e6, 6e6, INFINITY};
/* A reading of a variable that was set back may be anything within so many powers of e. */
#define ANYTHING 5.0

/* ---- what a look costs ---- */

/* The time in which the variable moves on as it does without a look; half of it at least. */
static double time_on(const struct pace_reading *reading, double loss)
{
    return fmax(reading->ns - loss, reading->ns / 2);
}

static double ratio_of_sums(const struct pace_reading *list, size_t n, double loss)
{
    double ns = 0, moved = 0;

    for (size_t i = 0; i < n; i++) {
        ns += time_on(&list[i], loss);
        moved += list[i].moved;
    }
    return moved / ns;
}

struct look_loss {
    double ns, variance;
};

/* moved / ns is a straight line over 1/ns, whose slope is the loss times the pace: linear
 * regression, with what is known before as one more equation. about: the pace, nearly. */
static struct look_loss find_loss(const struct pace_reading *list, size_t n, double about)
{
    double x_sum = 0, xx = 0, y_sum = 0, xy = 0, scatter = 0, known, determinant, at_none, slope;
    const double prior = LOOK_LOSS_DEVIATION * LOOK_LOSS_DEVIATION;

    for (size_t i = 0; i < n; i++) {
        double x = 1 / list[i].ns, y = list[i].moved / list[i].ns / about;
        double off = y - 1 + x * LOOK_LOSS_NS;

        x_sum += x;
        xx += x * x;
        y_sum += y;
        xy += x * y;
        scatter += off * off;
    }
    if (n < REGRESSION_LEAST)
        return (struct look_loss){LOOK_LOSS_NS, prior};
    scatter = fmax(scatter / (double)(n - 2), LEAST_SCATTER * LEAST_SCATTER);
    known = scatter / prior;
    determinant = (double)n * (xx + known) - x_sum * x_sum;
    at_none = (y_sum * (xx + known) - x_sum * (xy - known * LOOK_LOSS_NS)) / determinant;
    slope = (x_sum * y_sum - (double)n * (xy - known * LOOK_LOSS_NS)) / determinant;
    return (struct look_loss){
        .ns = fmin(fmax(slope / at_none, 0), LOOK_LOSS_NS + 3 * LOOK_LOSS_DEVIATION),
        .variance = scatter * (double)n / determinant,
    };
}

/* The pace of readings in all of which the variable moved on. */
static struct pace pace_of_these(const struct pace_reading *list, size_t n)
{
    struct look_loss loss = find_loss(list, n, ratio_of_sums(list, n, LOOK_LOSS_NS));
    struct pace pace = {.per_ns = ratio_of_sums(list, n, loss.ns), .count = n};
    double moved = 0, ns = 0;

    for (size_t i = 0; i < n; i++) {
        moved += list[i].moved;
        ns += time_on(&list[i], loss.ns);
    }
    for (size_t i = 0; i < n; i++) {
        double off = list[i].moved - pace.per_ns * time_on(&list[i], loss.ns);

        pace.variance += off * off / (moved * moved);
    }
    pace.variance += loss.variance * (double)n * (double)n / (ns * ns);
    return pace;
}

bool pace_of_all(struct pace_reading *list, size_t n, struct pace *pace)
{
    double moved = 0;

    for (size_t i = 0; i < n; i++)
        moved += list[i].moved;
    if (moved <= 0)
        return false;
    *pace = pace_of_these(list, n);
    return true;
}

/* ---- most ---- */

struct mixture {
    double log_pace, scatter, mean_ns;
};

/* ln of a reading's likelihood if it was not set back, and if it was. */
static double likelihood_on(const struct mixture *mixture, const struct pace_reading *reading)
{
    double off = (log(reading->moved / time_on(reading, LOOK_LOSS_NS)) - mixture->log_pace) /
                 mixture->scatter;

    return -reading->ns / mixture->mean_ns - off * off / 2 - log(mixture->scatter * sqrt(2 * M_PI));
}

static double likelihood_back(const struct mixture *mixture, const struct pace_reading *reading)
{
    /* Never set back: one reading in a hundred may still be odd. */
    double back = isinf(mixture->mean_ns) ? 0 : -expm1(-reading->ns / mixture->mean_ns);

    return log(fmax(back, 0.01) / ANYTHING);
}

static bool goes_on(const struct mixture *mixture, const struct pace_reading *reading)
{
    return reading->moved > 0 &&
           likelihood_on(mixture, reading) > likelihood_back(mixture, reading);
}

static double likelihood(const struct mixture *mixture, const struct pace_reading *list, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        double back = likelihood_back(mixture, &list[i]);

        if (list[i].moved <= 0)
            sum += back;
        else
            sum += log(exp(likelihood_on(mixture, &list[i])) + exp(back));
    }
    return sum;
}

static struct mixture most_likely(const struct pace_reading *list, size_t n)
{
    size_t step = n / PACES_TRIED + 1;
    struct mixture best = {0};
    double most = -INFINITY;

    for (size_t i = 0; i < n; i += step) {
        /* Every step-th that can be one. */
        size_t at = i;

        while (at < n && list[at].moved <= 0)
            at++;
        for (unsigned k = 0; at < n && k < SCATTERS * TIMES; k++) {
            struct mixture mixture = {log(list[at].moved / time_on(&list[at], LOOK_LOSS_NS)),
                                      scatters[k / TIMES], times[k % TIMES]};
            double found = likelihood(&mixture, list, n);

            if (found > most) {
                most = found;
                best = mixture;
            }
        }
    }
    return best;
}

bool pace_of_most(struct pace_reading *list, size_t n, struct pace *pace)
{
    struct mixture mixture = most_likely(list, n < READINGS_TRIED ? n : READINGS_TRIED);
    size_t count = 0, against = 0, before_last = 0;

    if (mixture.scatter == 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!goes_on(&mixture, &list[i])) {
            against++;
            continue;
        }
        list[count++] = list[i];
        before_last = against;
    }
    if (count < 2)
        return false;
    *pace = pace_of_these(list, count);
    pace->against = before_last;
    return true;
}

/* ---- with a counter ---- */

bool pace_with_counter(struct pace_reading *list, size_t n, struct pace *pace)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0, slope, at_none, rest;

    if (n < REGRESSION_LEAST)
        return false;
    for (size_t i = 0; i < n; i++) {
        mean_x += list[i].counter / time_on(&list[i], LOOK_LOSS_NS) / (double)n;
        mean_y += list[i].moved / time_on(&list[i], LOOK_LOSS_NS) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        double x = list[i].counter / time_on(&list[i], LOOK_LOSS_NS) - mean_x;
        double y = list[i].moved / time_on(&list[i], LOOK_LOSS_NS) - mean_y;

        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    if (!(xx > (double)n * COUNTER_SCATTER * COUNTER_SCATTER * mean_x * mean_x) || !(yy > 0))
        return false;
    slope = xy / xx;
    at_none = mean_y - slope * mean_x;
    rest = fmax(0, yy - slope * xy);
    if (!(at_none > 0) || sqrt(rest / (double)(n - 2)) > EXPLAINED_SCATTER * at_none ||
        (rest > EXPLAINED_SHARE * yy && fabs(mean_y) > HARDLY_ANY * at_none))
        return false;
    for (size_t i = 0; i < n; i++)
        list[i].moved -= slope * list[i].counter;
    *pace = pace_of_these(list, n);
    pace->variance += rest / (double)(n - 2) * mean_x * mean_x / xx / (at_none * at_none);
    return pace->per_ns > 0;
}
