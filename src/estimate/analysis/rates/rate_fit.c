/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/rates/rate_fit.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Spread between loops of a program about what is expected, ln, before any is known, and how many
 * loops that is worth: 245 readings of 16 programs are likeliest with 0.1 to 0.2. */
#define BETWEEN_LOOPS 0.15
#define BETWEEN_LOOPS_WORTH 2.0
/* Readings that tell of it. */
#define TELLING_VARIANCE 0.25
/* Degrees of freedom of the Student distribution. */
#define FREEDOM 4.0
#define VAGUE_VARIANCE 1.0
/* What a reading that is astray may say: anything between two rates so many powers of e apart
 * (FASTEST_RATE, SLOWEST_RATE). */
#define ASTRAY_RANGE 12.6
/* What is expected of code may be astray as well: it waits for what the model does not know, lines
 * that other threads write to above all. It is slower then, by up to so many powers of e. */
#define UNEXPECTED 0.05
#define UNEXPECTED_RANGE 6.0
/* A step is not longer than this, in ln(rate). */
#define LONGEST_STEP 1.0
#define CLOSE_ENOUGH 1e-6
/* What the beginning is taken from; more would not move it. */
enum { STEPS_MAX = 60, UNKNOWNS_MAX = RATE_GROUPS_MAX + 1, OPINIONS_MAX = 512 };

struct system {
    uint32_t n; /* groups, then their common offset */
    const double *expected, *own_variance;
    double common_variance;
    double between; /* variance of groups about what is expected, besides their own */
    double x[UNKNOWNS_MAX];
    bool told[UNKNOWNS_MAX]; /* by what may contradict what is expected */
    double information[UNKNOWNS_MAX][UNKNOWNS_MAX];
    double gradient[UNKNOWNS_MAX];
};

/*
 * The probability that what is said is not astray (Bayes): it is either what is expected, give or
 * take all that is unknown, or slower than the model knows, or anything. own: its own variance;
 * what is vague is mostly too slow when it is astray, and does not tell of slow code.
 */
static double trust_in(double off, double own, double unknown, double astray)
{
    double variance = own + unknown;
    double expected = exp(-off * off / (2 * variance)) / sqrt(2 * M_PI * variance);
    bool may_tell = own < TELLING_VARIANCE && off < 0 && off > -UNEXPECTED_RANGE;
    double slower = may_tell ? 1 / UNEXPECTED_RANGE : 0;
    double right = (1 - astray) * ((1 - UNEXPECTED) * expected + UNEXPECTED * slower);

    return astray > 0 ? right / (right + astray / ASTRAY_RANGE) : 1;
}

static double unknown_variance(const struct rate_evidence *evidence)
{
    return evidence->common_variance + BETWEEN_LOOPS * BETWEEN_LOOPS;
}

static double trust_in_reading(const struct rate_evidence *evidence,
                               const struct rate_reading *reading)
{
    return trust_in(reading->log_rate - evidence->expected[reading->group], reading->variance,
                    evidence->own_variance[reading->group] + unknown_variance(evidence),
                    reading->astray);
}

/* By how much, ln, the word moved more than it would at the rates that are expected. */
static double off_expected(const struct rate_evidence *evidence,
                           const struct rate_equation *equation)
{
    const struct rate_term *terms = &evidence->terms[equation->first];
    double sum = 0;

    for (size_t i = 0; i < equation->count; i++)
        sum += terms[i].weight * exp(evidence->expected[terms[i].group]);
    return log(equation->moved / sum);
}

/* Of what the word is expected to move by, ln: what groups have of their own. */
static double own_variance(const struct rate_evidence *evidence,
                           const struct rate_equation *equation)
{
    const struct rate_term *terms = &evidence->terms[equation->first];
    double sum = 0, squares = 0;

    for (size_t i = 0; i < equation->count; i++) {
        double moved = terms[i].weight * exp(evidence->expected[terms[i].group]);

        sum += moved;
        squares += moved * moved * evidence->own_variance[terms[i].group];
    }
    return squares / (sum * sum);
}

static double trust_in_equation(const struct rate_evidence *evidence,
                                const struct rate_equation *equation)
{
    return trust_in(off_expected(evidence, equation), equation->variance,
                    unknown_variance(evidence) + own_variance(evidence, equation),
                    equation->astray);
}

/* What is vague is taken at its word: it was said to be far off at times. */
static double robust(double off, double variance)
{
    if (variance >= VAGUE_VARIANCE)
        return 1 / variance;
    return (FREEDOM + 1) / (FREEDOM + off * off / variance) / variance;
}

/* The weight of what is expected: of a normal distribution, but with the ends of a Student
 * distribution where readings may tell of code that waits for what the model does not know. */
static double expectation(const struct system *system, uint32_t unknown, double off,
                          double variance)
{
    if (!system->told[unknown])
        return 1 / variance;
    return (FREEDOM + 1) / ((FREEDOM + 1) * variance + off * off);
}

static void add_priors(struct system *system)
{
    uint32_t offset = system->n - 1;
    double precision;

    for (uint32_t i = 0; i < offset; i++) {
        double off = system->x[i] - system->expected[i] - system->x[offset];

        precision = expectation(system, i, off, system->between + system->own_variance[i]);
        system->information[i][i] += precision;
        system->information[offset][offset] += precision;
        system->information[i][offset] -= precision;
        system->information[offset][i] -= precision;
        system->gradient[i] -= precision * off;
        system->gradient[offset] += precision * off;
    }
    precision = expectation(system, offset, system->x[offset], system->common_variance);
    system->information[offset][offset] += precision;
    system->gradient[offset] -= precision * system->x[offset];
}

static void add_reading(struct system *system, const struct rate_reading *reading, double trust)
{
    double off = system->x[reading->group] - reading->log_rate;
    double weight = trust * robust(off, reading->variance);

    system->information[reading->group][reading->group] += weight;
    system->gradient[reading->group] -= weight * off;
}

static void add_equation(struct system *system, const struct rate_equation *equation,
                         const struct rate_term *terms, double trust)
{
    double sum = 0, off, weight;

    for (size_t i = 0; i < equation->count; i++)
        sum += terms[i].weight * exp(system->x[terms[i].group]);
    off = log(sum / equation->moved);
    weight = trust * robust(off, equation->variance);
    for (size_t i = 0; i < equation->count; i++) {
        double by = terms[i].weight * exp(system->x[terms[i].group]) / sum;

        system->gradient[terms[i].group] -= weight * by * off;
        for (size_t k = 0; k < equation->count; k++)
            system->information[terms[i].group][terms[k].group] +=
                weight * by * terms[k].weight * exp(system->x[terms[k].group]) / sum;
    }
}

static void set_up(struct system *system, const struct rate_evidence *evidence)
{
    memset(system->information, 0, sizeof system->information);
    memset(system->gradient, 0, sizeof system->gradient);
    add_priors(system);
    for (size_t i = 0; i < evidence->reading_count; i++)
        add_reading(system, &evidence->readings[i],
                    trust_in_reading(evidence, &evidence->readings[i]));
    for (size_t i = 0; i < evidence->equation_count; i++)
        add_equation(system, &evidence->equations[i],
                     &evidence->terms[evidence->equations[i].first],
                     trust_in_equation(evidence, &evidence->equations[i]));
}

/* Cholesky: the lower half of the information becomes its root. It is positive: the priors are. */
static void factorise(struct system *system)
{
    for (uint32_t i = 0; i < system->n; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            double sum = system->information[i][j];

            for (uint32_t k = 0; k < j; k++)
                sum -= system->information[i][k] * system->information[j][k];
            system->information[i][j] = i == j ? sqrt(sum) : sum / system->information[j][j];
        }
    }
}

/* Replaces y by the solution of root * root' * x = y. */
static void solve(const struct system *system, double y[UNKNOWNS_MAX])
{
    for (uint32_t i = 0; i < system->n; i++) {
        for (uint32_t k = 0; k < i; k++)
            y[i] -= system->information[i][k] * y[k];
        y[i] /= system->information[i][i];
    }
    for (uint32_t i = system->n; i-- > 0;) {
        for (uint32_t k = i + 1; k < system->n; k++)
            y[i] -= system->information[k][i] * y[k];
        y[i] /= system->information[i][i];
    }
}

/* Variance of the sum of by[i] * x[i]. */
static double variance_of(const struct system *system, const double by[UNKNOWNS_MAX])
{
    double y[UNKNOWNS_MAX], sum = 0;

    memcpy(y, by, sizeof y);
    solve(system, y);
    for (uint32_t i = 0; i < system->n; i++)
        sum += by[i] * y[i];
    return sum;
}

/* Returns how far it went. */
static double step(struct system *system)
{
    double longest = 0, factor;

    solve(system, system->gradient);
    for (uint32_t i = 0; i < system->n; i++)
        longest = fmax(longest, fabs(system->gradient[i]));
    factor = longest > LONGEST_STEP ? LONGEST_STEP / longest : 1;
    for (uint32_t i = 0; i < system->n; i++)
        system->x[i] += factor * system->gradient[i];
    return longest;
}

static int by_rate(const void *a, const void *b)
{
    const struct rate_reading *x = a, *y = b;

    return (x->log_rate > y->log_rate) - (x->log_rate < y->log_rate);
}

size_t rate_middle(struct rate_reading *readings, size_t n)
{
    double all = 0, below = 0;
    size_t i;

    qsort(readings, n, sizeof *readings, by_rate);
    for (i = 0; i < n; i++)
        all += 1 / readings[i].variance;
    for (i = 0; i + 1 < n; i++) {
        below += 1 / readings[i].variance;
        if (below >= all / 2)
            break;
    }
    return i;
}

/* The offset, if nothing but it was unknown: the middle of what is said, which what is far off does
 * not move. The weights of a Student distribution need a beginning near the truth. */
static double common_offset(const struct rate_evidence *evidence)
{
    struct rate_reading list[OPINIONS_MAX] = {{.variance = evidence->common_variance}};
    size_t n = 1;

    for (size_t i = 0; i < evidence->reading_count && n < OPINIONS_MAX; i++) {
        list[n] = evidence->readings[i];
        list[n].variance /= trust_in_reading(evidence, &list[n]);
        list[n].log_rate -= evidence->expected[list[n].group];
        n++;
    }
    for (size_t i = 0; i < evidence->equation_count && n < OPINIONS_MAX; i++) {
        const struct rate_equation *equation = &evidence->equations[i];

        list[n++] = (struct rate_reading){.log_rate = off_expected(evidence, equation),
                                          .variance = equation->variance /
                                                      trust_in_equation(evidence, equation)};
    }
    return list[rate_middle(list, n)].log_rate;
}

/* Code that is far from what is expected begins where its readings are, the middle one of those
 * that are likely right: what is expected and what is read may both be a most probable value. */
static void begin_at_readings(const struct rate_evidence *evidence, struct system *system)
{
    struct rate_reading list[OPINIONS_MAX];

    for (uint32_t group = 0; group < evidence->groups; group++) {
        size_t n = 0;

        for (size_t i = 0; i < evidence->reading_count && n < OPINIONS_MAX; i++)
            if (evidence->readings[i].group == group &&
                evidence->readings[i].variance < TELLING_VARIANCE &&
                trust_in_reading(evidence, &evidence->readings[i]) > 0.5)
                list[n++] = evidence->readings[i];
        if (n == 0)
            continue;
        system->x[group] = list[rate_middle(list, n)].log_rate;
        system->told[group] = system->told[evidence->groups] = true;
    }
}

/* Words that move in several groups tell of these together. */
static void note_equations(const struct rate_evidence *evidence, struct system *system)
{
    for (size_t i = 0; i < evidence->equation_count; i++) {
        const struct rate_equation *equation = &evidence->equations[i];

        if (equation->variance >= TELLING_VARIANCE || trust_in_equation(evidence, equation) <= 0.5)
            continue;
        for (size_t k = 0; k < equation->count; k++)
            system->told[evidence->terms[equation->first + k].group] = true;
        system->told[evidence->groups] = true;
    }
}

/* Variance between groups about what is expected, without that of the readings themselves. */
static double variance_between(const struct rate_evidence *evidence)
{
    double n = 0, sum = 0, squares = 0, own = 0, found;

    for (size_t i = 0; i < evidence->reading_count; i++) {
        const struct rate_reading *reading = &evidence->readings[i];
        double off;

        if (reading->variance > TELLING_VARIANCE || trust_in_reading(evidence, reading) < 0.5)
            continue;
        off = reading->log_rate - evidence->expected[reading->group];
        n++;
        sum += off;
        squares += off * off;
        own += reading->variance + evidence->own_variance[reading->group];
    }
    found = n > 1 ? fmax(0, squares - sum * sum / n - own * (n - 1) / n) : 0;
    return (BETWEEN_LOOPS_WORTH * BETWEEN_LOOPS * BETWEEN_LOOPS + found) /
           (BETWEEN_LOOPS_WORTH + fmax(0, n - 1));
}

static void tell(const struct system *system, const struct rate_evidence *evidence,
                 struct rate_fit *fit)
{
    double by[UNKNOWNS_MAX] = {0}, all = 0;

    for (uint32_t i = 0; i < evidence->groups; i++) {
        double alone[UNKNOWNS_MAX] = {0};

        alone[i] = 1;
        fit->log_rate[i] = system->x[i];
        fit->deviation[i] = sqrt(variance_of(system, alone));
        all += evidence->share[i] * exp(system->x[i]);
    }
    for (uint32_t i = 0; i < evidence->groups && all > 0; i++)
        by[i] = evidence->share[i] * exp(system->x[i]) / all;
    fit->total_deviation = sqrt(variance_of(system, by));
}

void rate_fit(const struct rate_evidence *evidence, struct rate_fit *fit)
{
    struct system system = {.n = evidence->groups + 1,
                            .expected = evidence->expected,
                            .own_variance = evidence->own_variance,
                            .common_variance = evidence->common_variance,
                            .between = variance_between(evidence)};
    double begin = common_offset(evidence);

    for (uint32_t i = 0; i < evidence->groups; i++)
        system.x[i] = evidence->expected[i] + begin;
    begin_at_readings(evidence, &system);
    note_equations(evidence, &system);
    system.x[evidence->groups] = begin;
    for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
        set_up(&system, evidence);
        factorise(&system);
        if (step(&system) < CLOSE_ENOUGH)
            break;
    }
    set_up(&system, evidence);
    factorise(&system);
    tell(&system, evidence, fit);
}
