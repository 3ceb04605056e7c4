/* SPDX-License-Identifier: BSD-3-Clause */
/* See variable_pace.h. */
#include "analysis/rates/variable_pace.h"

#include <math.h>

/* Readings scatter by this at least. */
#define LEAST_SCATTER 0.01
/* Readings that a regression needs: with two unknowns, three remain to contradict it. (What a look
 * costs is a third one, but known before.) */
enum { REGRESSION_LEAST = 5 };
/* It explains the readings if what is left of them is no more than this share of their time, and
 * this part of what the variable alone leaves. */
#define EXPLAINED_SCATTER 0.25
#define EXPLAINED_SHARE 0.1
/* The counter's own pace must differ by this share between readings: by less it differs for what
 * looks cost, and then its part cannot be told from the pace. */
#define COUNTER_SCATTER 0.1
/* Degrees of freedom of the Student distribution by which readings scatter (Lange, Little and
 * Taylor, JASA 84, 1989), and steps of the fit, which begins with least squares. */
#define FREEDOM 4.0
enum { FIT_STEPS = 12 };
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
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (list[i].moved >= 0) {
            moved += list[i].moved;
            list[count++] = list[i];
        }
    if (moved <= 0)
        return false;
    *pace = pace_of_these(list, count);
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

/*
 * time = by[MOVED] * moved + by[COUNTED] * counter + by[LOST], divided by time: what is left of a
 * reading is a share of its time. What moved is known to the unit, and time is not the program's
 * alone: it is time that scatters about the others. (The other way round, what moved against the
 * counter's pace, the counter's part comes out too low: in a time that was interrupted both move
 * less.)
 */
enum { MOVED, COUNTED, LOST, PARTS };

struct counter_fit {
    double by[PARTS];
    double information[PARTS][PARTS]; /* in shares of the time, weighted */
    double without;                   /* squares of what is left if nothing is counted */
    double rest;                      /* variance of what is left */
};

static void parts_of(const struct pace_reading *reading, double parts[PARTS])
{
    parts[MOVED] = reading->moved / reading->ns;
    parts[COUNTED] = reading->counter / reading->ns;
    parts[LOST] = 1 / reading->ns;
}

static double share_left(const struct counter_fit *fit, const struct pace_reading *reading)
{
    double parts[PARTS], left = 1;

    parts_of(reading, parts);
    for (unsigned i = 0; i < PARTS; i++)
        left -= fit->by[i] * parts[i];
    return left;
}

/* What a reading counts; as long as nothing is known, 1. */
static double counts_for(const struct counter_fit *fit, const struct pace_reading *reading)
{
    double off = share_left(fit, reading);

    return fit->by[MOVED] > 0 ? (FREEDOM + 1) / (FREEDOM + off * off / fit->rest) : 1;
}

/* Cofactor of a symmetric matrix of three rows. */
static double cofactor(const double m[PARTS][PARTS], unsigned i, unsigned k)
{
    unsigned i1 = (i + 1) % PARTS, i2 = (i + 2) % PARTS;
    unsigned k1 = (k + 1) % PARTS, k2 = (k + 2) % PARTS;

    return m[i1][k1] * m[i2][k2] - m[i1][k2] * m[i2][k1];
}

static double determinant(const double m[PARTS][PARTS])
{
    return m[0][0] * cofactor(m, 0, 0) + m[0][1] * cofactor(m, 0, 1) + m[0][2] * cofactor(m, 0, 2);
}

/* The next step of a fit that what is far off moves little. False: the counter's part cannot be
 * told from the pace. */
static bool improve_fit(const struct pace_reading *list, size_t n, struct counter_fit *fit)
{
    const double known = fit->rest / (LOOK_LOSS_DEVIATION * LOOK_LOSS_DEVIATION);
    struct counter_fit next = {.information[LOST][LOST] = known};
    double sums[PARTS] = {[LOST] = known * LOOK_LOSS_NS}, counted = 0, squares = 0, all = 0, whole;

    for (size_t i = 0; i < n; i++) {
        double weight = counts_for(fit, &list[i]), parts[PARTS];

        parts_of(&list[i], parts);
        all += weight;
        counted += weight * parts[COUNTED];
        squares += weight * parts[COUNTED] * parts[COUNTED];
        for (unsigned k = 0; k < PARTS; k++) {
            sums[k] += weight * parts[k];
            for (unsigned l = 0; l < PARTS; l++)
                next.information[k][l] += weight * parts[k] * parts[l];
        }
    }
    whole = determinant(next.information);
    if (!(squares * all > (1 + COUNTER_SCATTER * COUNTER_SCATTER) * counted * counted) ||
        !(whole > 0))
        return false;
    for (unsigned k = 0; k < PARTS; k++)
        for (unsigned l = 0; l < PARTS; l++)
            next.by[k] += cofactor(next.information, k, l) * sums[l] / whole;
    for (size_t i = 0; i < n; i++) {
        double off = share_left(&next, &list[i]);

        next.rest += counts_for(fit, &list[i]) * off * off / (double)(n - 2);
    }
    next.rest = fmax(next.rest, LEAST_SCATTER * LEAST_SCATTER);
    next.without = all - sums[MOVED] * sums[MOVED] / next.information[MOVED][MOVED];
    *fit = next;
    return next.by[MOVED] > 0;
}

/* Variance of by[COUNTED] / by[MOVED], what the variable goes back by, is. Its information in a
 * Student distribution is less than in a normal one by (f + 1) / (f + 3), as above. */
static double variance_back(const struct counter_fit *fit, double is)
{
    double moved = cofactor(fit->information, MOVED, MOVED);
    double both = cofactor(fit->information, MOVED, COUNTED);
    double counted = cofactor(fit->information, COUNTED, COUNTED);

    return (FREEDOM + 3) / (FREEDOM + 1) * fit->rest * (counted - 2 * is * both + is * is * moved) /
           determinant(fit->information) / (fit->by[MOVED] * fit->by[MOVED]);
}

bool pace_with_counter(struct pace_reading *list, size_t n, struct pace *pace)
{
    struct counter_fit fit = {.rest = EXPLAINED_SCATTER * EXPLAINED_SCATTER};
    double back, moved = 0, counted = 0;

    if (n < REGRESSION_LEAST)
        return false;
    for (unsigned i = 0; i < FIT_STEPS; i++)
        if (!improve_fit(list, n, &fit))
            return false;
    if (fit.rest > EXPLAINED_SCATTER * EXPLAINED_SCATTER ||
        fit.rest * (double)(n - 2) > EXPLAINED_SHARE * fit.without)
        return false;
    back = fit.by[COUNTED] / fit.by[MOVED];
    for (size_t i = 0; i < n; i++) {
        list[i].moved += back * list[i].counter;
        moved += list[i].moved;
        counted += list[i].counter;
    }
    if (!(moved > 0))
        return false;
    *pace = pace_of_these(list, n);
    pace->variance += variance_back(&fit, back) * counted * counted / (moved * moved);
    return pace->per_ns > 0;
}
