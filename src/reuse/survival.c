/* SPDX-License-Identifier: BSD-3-Clause */
/* One pass over sorted events; a state per stratum; the mixture is kept up to date as it goes. */
#include "reuse/survival.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reuse/sort_keys.h"

/* Ends that count come before beginnings, beginnings before censored ends: whoever is censored at t
 * was still at risk at t, and whoever begins at t is at risk only after it. */
static int order_at_same_time(const struct survival_event *event)
{
    if (event->begins)
        return 1;
    return event->multiplicity > 0 || event->trapped ? 0 : 2;
}

static bool comes_before(const struct survival_event *x, const struct survival_event *y)
{
    if (x->time != y->time)
        return x->time < y->time;
    int order = order_at_same_time(x) - order_at_same_time(y);
    if (order)
        return order < 0;
    if (x->sample != y->sample)
        return x->sample < y->sample;
    return x->observer < y->observer;
}

/* By time and, at the same time, by order_at_same_time(); else they keep their order. */
static void sort_by_time(struct survival_event *events, size_t n, struct sort_key *keys,
                         struct survival_event *copy)
{
    size_t count = 0;

    memcpy(copy, events, n * sizeof *copy);
    for (int order = 0; order <= 2; order++)
        for (size_t i = 0; i < n; i++)
            if (order_at_same_time(&copy[i]) == order)
                keys[count++] = (struct sort_key){sort_key_of_time(copy[i].time), (uint32_t)i};
    const struct sort_key *sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++)
        events[i] = copy[sorted[i].index];
}

int survival_sort(struct survival_event *events, size_t n)
{
    struct sort_key *keys = malloc((2 * n + 1) * sizeof *keys);
    struct survival_event *copy = malloc((n + 1) * sizeof *copy);
    int result = keys && copy ? 0 : -1;

    if (result == 0)
        sort_by_time(events, n, keys, copy);
    /* What is left out of place are events of one time that were not in order of their samples. */
    for (size_t i = 1; i < n && result == 0; i++) {
        struct survival_event event = events[i];
        size_t at = i;
        for (; at > 0 && comes_before(&event, &events[at - 1]); at--)
            events[at] = events[at - 1];
        events[at] = event;
    }
    free(keys);
    free(copy);
    return result;
}

struct stratum {
    double at_risk[OBSERVER_COUNT];
    uint32_t observers[OBSERVER_COUNT]; /* decides emptiness: sums of doubles do not return to 0 */
    double share;
    double survival;  /* P(not reused) */
    double uncrossed; /* P(not used by another thread) */
    double valid;     /* P(not invalidated), unless the stratum takes part in the shared hazard */
    double traps, visits; /* stores of other threads that were seen, and the visits they are */
    uint32_t trap_count;
    double visits_per_trap;
    bool shares_invalidation, shares_crossing;
    bool other_counted; /* an "other" end has counted: losing these observers loses knowledge */
    bool crossing_counted;
    bool lost; /* not all of its hazard is observed any more */
};

/* Sums over strata of share times theirs, and what strata share. */
struct mixture {
    double survival, invalidated, crossed, uncrossed, unknown;
    double shared_valid;
    /* Of the strata that share what these observers see. */
    double shared_at_risk[OBSERVER_COUNT];
    uint32_t shared_observers[OBSERVER_COUNT];
    struct stratum *strata;
    uint32_t strata_count;
    double other_factor; /* what-if */
    bool one_visit;
};

/* P(not invalidated). */
static double validity_of(const struct mixture *mixture, const struct stratum *stratum)
{
    double valid = stratum->shares_invalidation ? mixture->shared_valid : stratum->valid;

    /* Here valid is that of the watched word. */
    return mixture->one_visit ? fmax(0, 1 - stratum->visits_per_trap * (1 - valid)) : valid;
}

/* A part of the stratum is reused; as much of it as was invalidated before is a coherence miss. */
static void set_survival(struct mixture *mixture, struct stratum *stratum, double survival)
{
    double valid = validity_of(mixture, stratum);
    double reused = stratum->share * (stratum->survival - survival);

    mixture->survival -= reused;
    mixture->invalidated += reused * (1 - valid);
    if (stratum->lost)
        mixture->unknown -= reused;
    stratum->survival = survival;
}

/*
 * While windows and watches overlap (windows cut short), both estimate the same hazard. They are
 * combined in proportion to the observers: a weight that does not depend on what happens next, so
 * the sum stays unbiased. Watches see the whole hazard only together.
 */
static double watching(const struct stratum *stratum)
{
    double accessed = stratum->at_risk[OBSERVER_ACCESSED];
    double other = stratum->at_risk[OBSERVER_OTHER];

    if (!stratum->observers[OBSERVER_ACCESSED] || !stratum->observers[OBSERVER_OTHER])
        return 0;
    return accessed * other / (accessed + other);
}

static double watch_part(const struct stratum *stratum)
{
    if (!stratum->observers[OBSERVER_WINDOW])
        return 1;
    double watches = watching(stratum);
    return watches / (stratum->at_risk[OBSERVER_WINDOW] + watches);
}

/*
 * What is left after an end with this hazard. 1 - hazard keeps the product unbiased (a martingale);
 * where few observers of a multiple end make the hazard exceed what a factor can express, the
 * continuous limit bounds the loss. The two meet smoothly enough at one half. Without multiplicity
 * the last observer's own end leaves nobody, and the quotient may miss 1 by rounding.
 */
static double left_after(double hazard, double multiplicity)
{
    if (multiplicity > 1)
        return hazard <= 0.5 ? 1 - hazard : 0.5 * exp(1 - 2 * hazard);
    return hazard < 1 - 1e-9 ? 1 - hazard : 0;
}

static void count_invalidation(struct mixture *mixture, struct stratum *stratum, double weight)
{
    double visits = mixture->one_visit ? 1 : stratum->visits_per_trap;

    if (stratum->shares_invalidation)
        mixture->shared_valid *=
            left_after(visits * weight / mixture->shared_at_risk[OBSERVER_INVALIDATION], visits);
    else
        stratum->valid *=
            left_after(visits * weight / stratum->at_risk[OBSERVER_INVALIDATION], visits);
}

static void cross(struct mixture *mixture, struct stratum *stratum, double left)
{
    double before = stratum->survival;

    stratum->crossing_counted = true;
    set_survival(mixture, stratum, before * left);
    mixture->crossed += stratum->share * (before - stratum->survival);
    mixture->uncrossed -= stratum->share * stratum->uncrossed * (1 - left);
    stratum->uncrossed *= left;
}

static void count_crossing(struct mixture *mixture, struct stratum *stratum, double multiplicity,
                           double weight)
{
    double at_risk = stratum->shares_crossing ? mixture->shared_at_risk[OBSERVER_CROSSING]
                                              : stratum->at_risk[OBSERVER_CROSSING];
    double left = left_after(multiplicity * weight / at_risk, multiplicity);

    if (!stratum->shares_crossing) {
        cross(mixture, stratum, left);
        return;
    }
    for (uint32_t k = 0; k < mixture->strata_count; k++)
        if (mixture->strata[k].shares_crossing)
            cross(mixture, &mixture->strata[k], left);
}

static void count_end(struct mixture *mixture, struct stratum *stratum,
                      const struct survival_event *event, double weight)
{
    unsigned observer = event->observer;
    double multiplicity = (double)event->multiplicity;
    double at_risk = stratum->at_risk[observer], hazard;

    if (observer == OBSERVER_CROSSING) {
        count_crossing(mixture, stratum, multiplicity, weight);
        return;
    }
    if (observer == OBSERVER_OTHER)
        multiplicity *= mixture->other_factor;
    if (observer == OBSERVER_WINDOW) {
        hazard = weight / (at_risk + watching(stratum));
    } else {
        hazard = watch_part(stratum) * multiplicity * weight / at_risk;
        stratum->other_counted |= observer == OBSERVER_OTHER;
    }
    set_survival(mixture, stratum, stratum->survival * left_after(hazard, multiplicity));
}

static void change_at_risk(struct mixture *mixture, struct stratum *stratum, unsigned observer,
                           double weight)
{
    uint32_t one = weight > 0 ? 1 : UINT32_MAX;

    stratum->observers[observer] += one;
    stratum->at_risk[observer] =
        stratum->observers[observer] ? stratum->at_risk[observer] + weight : 0;
    if ((observer == OBSERVER_INVALIDATION && stratum->shares_invalidation) ||
        (observer == OBSERVER_CROSSING && stratum->shares_crossing)) {
        double *shared = &mixture->shared_at_risk[observer];

        mixture->shared_observers[observer] += one;
        *shared = mixture->shared_observers[observer] ? *shared + weight : 0;
    }
}

/* Whether other threads that come are still seen; where none ever came, none are missed. */
static bool sees_crossings(const struct mixture *mixture, const struct stratum *stratum)
{
    return !stratum->crossing_counted || stratum->observers[OBSERVER_CROSSING] ||
           (stratum->shares_crossing && mixture->shared_observers[OBSERVER_CROSSING]);
}

static void note_lost(struct mixture *mixture, struct stratum *stratum)
{
    if (stratum->lost || stratum->observers[OBSERVER_WINDOW])
        return;
    if (stratum->observers[OBSERVER_ACCESSED] &&
        (stratum->observers[OBSERVER_OTHER] || !stratum->other_counted) &&
        sees_crossings(mixture, stratum))
        return;
    stratum->lost = true;
    mixture->unknown += stratum->share * stratum->survival;
}

static void apply(struct mixture *mixture, struct stratum *stratum,
                  const struct survival_event *event, double weight)
{
    if (event->begins) {
        change_at_risk(mixture, stratum, event->observer, weight);
        return;
    }
    /* In a lost stratum the observers that are left see a part of the hazard. Their ends still
     * count: the result bounds the survival from above, and all of it is reported as unknown. */
    if (event->observer == OBSERVER_INVALIDATION) {
        if (event->trapped)
            count_invalidation(mixture, stratum, weight);
    } else if (event->multiplicity > 0) {
        count_end(mixture, stratum, event, weight);
    }
    change_at_risk(mixture, stratum, event->observer, -weight);
    if (event->observer != OBSERVER_INVALIDATION)
        note_lost(mixture, stratum);
}

static int append(struct survival_curve *curve, double time, const struct mixture *mixture)
{
    if (curve->count == curve->capacity) {
        size_t capacity = curve->capacity ? 2 * curve->capacity : 64;
        struct survival_point *points = realloc(curve->points, capacity * sizeof *curve->points);
        if (!points)
            return -1;
        curve->points = points;
        curve->capacity = capacity;
    }
    double survival = mixture->survival, unknown = fmax(0, mixture->unknown);
    /* Rounding of the running sums must not break monotony or the bounds. */
    double ceiling = curve->count ? curve->points[curve->count - 1].survival : 1;
    survival = survival < 1e-12 ? 0 : survival > ceiling ? ceiling : survival;
    struct survival_point area = {0};
    if (curve->count) {
        const struct survival_point *before = &curve->points[curve->count - 1];
        area.survival_area = before->survival_area + (time - before->time) * before->survival;
        area.invalidated_area =
            before->invalidated_area + (time - before->time) * before->invalidated;
        area.crossed_area = before->crossed_area + (time - before->time) * before->crossed;
        area.unknown_area = before->unknown_area + (time - before->time) * before->unknown;
    }
    curve->points[curve->count++] = (struct survival_point){
        .time = time,
        .survival = survival,
        .invalidated = mixture->invalidated,
        .crossed = mixture->crossed,
        .uncrossed = mixture->uncrossed,
        .unknown = unknown > survival ? survival : unknown,
        .survival_area = area.survival_area,
        .invalidated_area = area.invalidated_area,
        .crossed_area = area.crossed_area,
        .unknown_area = area.unknown_area,
    };
    return 0;
}

/* The same, where a point of that time may be there: time 0, or times that stretching made equal.
 */
static int append_at(struct survival_curve *curve, double time, const struct mixture *mixture)
{
    if (time <= curve->points[curve->count - 1].time)
        curve->count--;
    return append(curve, curve->count ? time : 0, mixture);
}

static double prepare(const struct survival_input *input, struct stratum *strata)
{
    double total = 0;

    for (uint32_t k = 0; k < input->strata; k++) {
        strata[k].survival = strata[k].valid = strata[k].uncrossed = 1;
        strata[k].shares_invalidation = input->shares_invalidation && input->shares_invalidation[k];
        strata[k].shares_crossing = input->shares_crossing && input->shares_crossing[k];
    }
    for (size_t i = 0; i < input->sample_count; i++) {
        double weight = input->weight_of[i];
        if (weight > 0) {
            struct stratum *stratum = &strata[input->stratum_of[i]];
            stratum->at_risk[OBSERVER_WINDOW] += weight;
            stratum->observers[OBSERVER_WINDOW]++;
            total += weight;
        }
    }
    for (uint32_t k = 0; k < input->strata && total > 0; k++)
        strata[k].share = strata[k].at_risk[OBSERVER_WINDOW] / total;
    return total;
}

/* Truly 1 or more, since a visit touches a word once. An estimate below 1 is noise, but to make it
 * 1 would bias the mean where visits are dense. */
static double visits_per_trap(double visits, double traps)
{
    return traps > 0 ? fmax(0.5, visits / traps) : 1;
}

/* The mean over many traps: one trap's own count is 0 or 8, mostly noise. */
static void count_visits(const struct survival_input *input, struct stratum *strata)
{
    enum { STRATUM_TRAPS_MIN = 64 };
    double traps = 0, visits = 0;

    for (size_t i = 0; i < input->event_count; i++) {
        const struct survival_event *event = &input->events[i];
        if (!event->trapped)
            continue;
        struct stratum *stratum = &strata[input->stratum_of[event->sample]];
        double weight = input->weight_of[event->sample] * (double)event->design;
        if (weight <= 0)
            continue;
        stratum->traps += weight;
        stratum->visits += weight * (double)event->multiplicity;
        stratum->trap_count++;
        traps += weight;
        visits += weight * (double)event->multiplicity;
    }
    for (uint32_t k = 0; k < input->strata; k++)
        strata[k].visits_per_trap = strata[k].trap_count < STRATUM_TRAPS_MIN
                                        ? visits_per_trap(visits, traps)
                                        : visits_per_trap(strata[k].visits, strata[k].traps);
}

static double stretched(const struct survival_input *input, double time)
{
    return time <= input->pivot ? time : input->pivot + (time - input->pivot) * input->scale;
}

int survival_estimate(const struct survival_input *input, struct survival_curve *out)
{
    struct stratum *strata = calloc(input->strata ? input->strata : 1, sizeof *strata);
    struct mixture mixture = {.survival = 1,
                              .uncrossed = 1,
                              .shared_valid = 1,
                              .one_visit = input->one_visit,
                              .strata = strata,
                              .strata_count = input->strata,
                              .other_factor = input->other_factor};
    bool reached_pivot = false;
    int result = 0;

    out->count = 0;
    if (!strata)
        return -1;
    count_visits(input, strata);
    if (prepare(input, strata) > 0)
        result = append(out, 0, &mixture);
    for (size_t i = 0; i < input->event_count && result == 0 && out->count;) {
        double raw = input->events[i].time, time = stretched(input, raw);
        if (raw > input->pivot && input->beyond_pivot < 1 && !reached_pivot) {
            reached_pivot = true;
            for (uint32_t k = 0; k < input->strata; k++)
                set_survival(&mixture, &strata[k], strata[k].survival * input->beyond_pivot);
            result = append_at(out, input->pivot, &mixture);
        }
        for (; i < input->event_count && input->events[i].time == raw; i++) {
            const struct survival_event *event = &input->events[i];
            double weight = input->weight_of[event->sample];
            if (weight > 0)
                apply(&mixture, &strata[input->stratum_of[event->sample]], event,
                      event->observer == OBSERVER_WINDOW ? weight : weight * event->design);
        }
        if (result == 0)
            result = append_at(out, time, &mixture);
    }
    free(strata);
    if (result)
        errno = ENOMEM;
    return result;
}

const struct survival_point *survival_at(const struct survival_curve *curve, double time)
{
    size_t low = 0, high = curve->count; /* points[low].time <= time < points[high].time */

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (curve->points[middle].time <= time)
            low = middle;
        else
            high = middle;
    }
    return &curve->points[low];
}

double survival_area_at(const struct survival_curve *curve, double time)
{
    const struct survival_point *point = survival_at(curve, time);

    return point->survival_area + (time - point->time) * point->survival;
}

void survival_free(struct survival_curve *curve)
{
    free(curve->points);
    *curve = (struct survival_curve){0};
}
