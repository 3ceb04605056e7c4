/* SPDX-License-Identifier: BSD-3-Clause */
/* One replicate of when open lines are used next: see open_lines.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/curves/open_lines_internal.h"
#include "support/memory.h"

/* Hazards of visits by other threads, ascending by time: those of the stratum, or of all that have
 * few. */
static size_t list_hazards(const struct open_lines *open, struct replicate *replicate,
                           uint32_t stratum)
{
    const struct analysis *analysis = open->analysis;
    enum visitors visitors = open->visitors[stratum];
    double at_risk = 0;
    size_t n = 0;

    for (size_t i = analysis->crossing_count; i-- > 0 && visitors != VISITORS_NONE;) {
        const struct crossing *crossing = &analysis->crossings[i];
        bool counts = visitors == VISITORS_OWN
                          ? crossing->stratum == stratum
                          : open->visitors[crossing->stratum] == VISITORS_POOLED;

        if (!counts)
            continue;
        double weight = crossing->weight * replicate->factors[crossing->burst];
        at_risk += weight;
        if (crossing->visits > 0 && weight > 0)
            replicate->hazards[n++] = (struct open_hazard){
                crossing->time, crossing->visits * weight / at_risk, crossing->visits, (uint32_t)i};
    }
    /* They were listed from the last one on. */
    for (size_t i = 0; i < n / 2; i++) {
        struct open_hazard swap = replicate->hazards[i];
        replicate->hazards[i] = replicate->hazards[n - 1 - i];
        replicate->hazards[n - 1 - i] = swap;
    }
    return n;
}

static void weigh(const struct open_lines *open, struct replicate *replicate)
{
    const struct analysis *analysis = open->analysis;

    for (uint32_t i = 0; i < analysis->burst_count; i++)
        replicate->factors[i] = replicate_burst_factor(analysis, replicate->number, i);
    for (size_t i = 0; i < analysis->watch_count; i++) {
        const struct watched_line *watched = &open->watched[i];

        replicate->weights[i] = watched->weight * replicate->factors[watched->line.burst];
        replicate->covered[i] = watched->covered ? replicate->weights[i] : 0;
    }
}

/* The line of a step of a stratum. */
static const struct known_line *line_of(const struct open_lines *open, uint32_t stratum,
                                        const struct open_step *step)
{
    return step->kind == STEP_CROSSED
               ? &open->crossed[step->number]
               : &open->watched[open->analysis->strata[stratum].first + step->number].line;
}

/* A step's time since the use: that since the burst's end is one at the rate of the replicate. */
static double use_of(const struct open_lines *open, const struct replicate *replicate,
                     uint32_t stratum, const struct open_step *step)
{
    const struct known_line *line = line_of(open, stratum, step);

    if (step->kind == STEP_NEVER)
        return INFINITY;
    if (step->kind == STEP_CROSSED)
        return line->accesses + step->time;
    return line->accesses +
           step->time * replicate_rate_factor(open->analysis, replicate->number, line->loop);
}

/* Integral of the survival since the use at the points of the grid: t less the time that what
 * ended by then had left. */
static void integrate(const struct open_step *steps, const double *uses, size_t n, double *area)
{
    double ended[PACE_POINTS] = {0}, times[PACE_POINTS] = {0}, mass = 0, sum = 0;

    for (size_t k = 0; k < n; k++) {
        size_t point = pace_point(uses[k]);

        if (point >= PACE_POINTS)
            continue;
        ended[point] += steps[k].mass;
        times[point] += steps[k].mass * uses[k];
    }
    for (size_t point = 0; point < PACE_POINTS; point++) {
        mass += ended[point];
        sum += times[point];
        area[point] = pace_time(point) * (1 - mass) + sum;
    }
}

/* Mean accesses from the use to the end of the burst, of the stratum's watches. */
static double mean_ahead(const struct open_lines *open, const struct replicate *replicate,
                         const struct stratum *stratum)
{
    double weights = 0, sum = 0;

    for (size_t i = stratum->first; i < stratum->first + stratum->count; i++) {
        weights += replicate->weights[i];
        sum += replicate->weights[i] * open->watched[i].line.accesses;
    }
    return weights > 0 ? sum / weights : 0;
}

/*
 * A visit counts where it ends, by a multiplicity that makes up for watches elsewhere; a watch that
 * a visit passes counts nothing. Of watches alike it is chance which ones the visits end at: each
 * gets the mean of its stratum, so that all that were used tell when. Unbiased as long as visits of
 * one stratum touch as many words early as late.
 */
static void share_multiplicity(struct open_watch *watches, const double *weight, size_t n)
{
    for (int accessed = 0; accessed <= 1; accessed++) {
        double weights = 0, sum = 0;

        for (size_t i = 0; i < n; i++) {
            if (watches[i].end != OPEN_USED || watches[i].accessed != accessed)
                continue;
            weights += weight[i];
            sum += weight[i] * (double)watches[i].multiplicity;
        }
        for (size_t i = 0; i < n && weights > 0; i++)
            if (watches[i].end == OPEN_USED && watches[i].accessed == accessed)
                watches[i].multiplicity = (float)(sum / weights);
    }
}

/*
 * Others come to lines at random, from any moment on as from the use. Their visits up to `ahead`,
 * where the burst ends, are steps of their own; sets the share of lines that nobody came to within
 * the times of the grid. Returns how many steps, and in *left what these leave.
 */
static size_t visit_within_burst(const struct replicate *replicate, size_t hazards, double ahead,
                                 struct open_step *steps, double *uses, float *alone, double *left)
{
    double share = 1;
    size_t n = 0, point = 0;

    *left = 1;
    for (size_t i = 0; i < hazards; i++) {
        const struct open_hazard *hazard = &replicate->hazards[i];
        double before = share;

        for (; point < SHORT_POINTS && pace_time(point) < hazard->time; point++)
            alone[point] = (float)share;
        share *= open_left_after(hazard->hazard, hazard->multiplicity);
        if (hazard->time > ahead)
            continue;
        uses[n] = hazard->time;
        steps[n++] = (struct open_step){.time = hazard->time,
                                        .mass = before - share,
                                        .number = hazard->number,
                                        .kind = STEP_CROSSED};
        *left = share;
    }
    for (; point < SHORT_POINTS; point++)
        alone[point] = (float)share;
    return n;
}

/* The steps of one stratum, and what they leave; returns how many. */
static size_t estimate_stratum(const struct open_lines *open, struct replicate *replicate,
                               uint32_t g, size_t first, float *alone, struct open_rest *rest)
{
    const struct analysis *analysis = open->analysis;
    const struct stratum *stratum = &analysis->strata[g];
    const struct order *order =
        replicate->assumption == ASSUME_UNEQUAL_LINES ? &open->by_word : &open->order;
    struct open_step *steps = replicate->steps + first;
    double *uses = replicate->uses + first, left = 1;
    size_t hazards = list_hazards(open, replicate, g), within = 0;

    memcpy(replicate->watches, order->watches + stratum->first,
           stratum->count * sizeof *replicate->watches);
    share_multiplicity(replicate->watches, replicate->weights + stratum->first, stratum->count);
    if (alone)
        within = visit_within_burst(replicate, hazards, mean_ahead(open, replicate, stratum), steps,
                                    uses, alone, &left);
    size_t n = within + open_survival(replicate->watches, order->by_exit + stratum->first,
                                      stratum->count, replicate->weights + stratum->first,
                                      replicate->hazards, hazards, steps + within, rest);
    for (size_t k = within; k < n; k++) {
        uses[k] = use_of(open, replicate, g, &steps[k]);
        steps[k].mass *= left;
    }
    rest->left *= left;
    return n;
}

static void estimate_strata(const struct open_lines *open, struct replicate *replicate,
                            struct fate *fate)
{
    const struct analysis *analysis = open->analysis;
    size_t count = 0;

    if (analysis->crossing_count) {
        fate->alone = allocate(analysis->stratum_count * SHORT_POINTS + 1, sizeof *fate->alone);
    }
    for (uint32_t g = 0; g < analysis->stratum_count; g++) {
        float *alone = fate->alone ? fate->alone + (size_t)g * SHORT_POINTS : NULL;
        struct open_rest rest;
        size_t n = estimate_stratum(open, replicate, g, count, alone, &rest);

        integrate(replicate->steps + count, replicate->uses + count, n,
                  replicate->areas + (size_t)g * PACE_POINTS);
        fate->first[g] = count;
        fate->unseen[g] =
            (struct unseen){.left = rest.left,
                            .lost = rest.lost + mean_ahead(open, replicate, &analysis->strata[g])};
        count += n;
    }
    fate->first[analysis->stratum_count] = count;
}

/* A step of a stratum: of one of its watches, or of somebody else's visit. */
static struct outcome outcome_of(const struct open_lines *open, const struct replicate *replicate,
                                 uint32_t stratum, size_t number)
{
    const struct open_step *step = &replicate->steps[number];
    struct outcome outcome = {.time = replicate->uses[number],
                              .distance = INFINITY,
                              .mass = (float)step->mass,
                              .valid = 1,
                              .kind = step->kind};

    if (step->kind != STEP_NEVER)
        outcome.distance = open_distance(open, replicate, line_of(open, stratum, step),
                                         pace_place_of(outcome.time));
    return outcome;
}

/* The distance at which the stratum's lines lie, on average, when the first observer is lost. */
static double distance_at_lost(const struct open_lines *open, const struct replicate *replicate,
                               uint32_t number, double time)
{
    const struct stratum *stratum = &open->analysis->strata[number];
    struct pace_place lost = pace_place_of(time);
    double weights = 0, sum = 0;

    for (size_t i = stratum->first; i < stratum->first + stratum->count; i++) {
        const struct known_line *line = &open->watched[i].line;

        if (!(replicate->weights[i] > 0))
            continue;
        weights += replicate->weights[i];
        sum += replicate->weights[i] *
               open_distance(open, replicate, line, line->accesses > time ? line->ahead : lost);
    }
    /* Without watches all is lost at once, but as far as bursts have seen. */
    return weights > 0 ? sum / weights : stratum->distance;
}

void open_lines_estimate(const struct open_lines *open, struct replicate *replicate,
                         struct fate *fate)
{
    const struct analysis *analysis = open->analysis;
    size_t strata = analysis->stratum_count;

    fate->first = allocate(strata + 1, sizeof *fate->first);
    fate->unseen = allocate(strata + 1, sizeof *fate->unseen);
    weigh(open, replicate);
    estimate_strata(open, replicate, fate);
    open_pace_estimate(open, replicate, fate);
    fate->outcomes = allocate(fate->first[strata] + 1, sizeof *fate->outcomes);
    for (uint32_t g = 0; g < strata; g++) {
        for (size_t k = fate->first[g]; k < fate->first[g + 1]; k++)
            fate->outcomes[k] = outcome_of(open, replicate, g, k);
        fate->unseen[g].lost_distance = distance_at_lost(open, replicate, g, fate->unseen[g].lost);
    }
    if (analysis->invalidations_seen)
        open_validity_estimate(open, replicate, fate);
}

void replicate_free(struct replicate *replicate)
{
    free(replicate->factors);
    free(replicate->weights);
    free(replicate->covered);
    free(replicate->pooled);
    free(replicate->watches);
    free(replicate->steps);
    free(replicate->uses);
    free(replicate->validities);
    free(replicate->hazards);
    free(replicate->areas);
    free(replicate->pace);
    free(replicate->shared);
    free(replicate->per_cell);
    free(replicate->per_stratum);
}

void replicate_allocate(const struct analysis *analysis, struct replicate *replicate)
{
    size_t watches = analysis->watch_count, strata = analysis->stratum_count;
    size_t cells = analysis->cell_count, crossings = analysis->crossing_count;

    *replicate = (struct replicate){
        .factors = allocate(analysis->burst_count + 1, sizeof *replicate->factors),
        .weights = allocate(watches + 1, sizeof *replicate->weights),
        .covered = allocate(watches + 1, sizeof *replicate->covered),
        .pooled = allocate(watches + 1, sizeof *replicate->pooled),
        .watches = allocate(watches + 1, sizeof *replicate->watches),
        .steps = allocate(watches + 2 * strata * crossings + 1, sizeof *replicate->steps),
        .uses = allocate(watches + 2 * strata * crossings + 1, sizeof *replicate->uses),
        .validities = allocate(watches + 1, sizeof *replicate->validities),
        .hazards = allocate(crossings + 1, sizeof *replicate->hazards),
        .areas = allocate(strata * PACE_POINTS + 1, sizeof *replicate->areas),
        .pace = allocate(cells * PACE_POINTS + 1, sizeof *replicate->pace),
        .shared = allocate(PACE_POINTS, sizeof *replicate->shared),
        .per_cell =
            allocate(cells * (PROBE_TIME_BINS + 1 + strata) + 1, sizeof *replicate->per_cell),
        .per_stratum = allocate(crossings ? cells * strata * PROBE_TIME_BINS : 0,
                                sizeof *replicate->per_stratum),
    };
}
