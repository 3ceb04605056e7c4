/* SPDX-License-Identifier: BSD-3-Clause */
/* One pass over sorted events; a state per stratum; the mixture is kept up to date as it goes. */
#include "reuse/survival.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Ends that count come before beginnings, beginnings before censored ends: whoever is censored at t
 * was still at risk at t, and whoever begins at t is at risk only after it. */
static int order_at_same_time(const struct survival_event *event)
{
    if (event->begins)
        return 1;
    return event->multiplicity > 0 ? 0 : 2;
}

static int compare_events(const void *a, const void *b)
{
    const struct survival_event *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    int order = order_at_same_time(x) - order_at_same_time(y);
    if (order)
        return order;
    if (x->sample != y->sample)
        return x->sample < y->sample ? -1 : 1;
    return (int)x->observer - (int)y->observer;
}

void survival_sort(struct survival_event *events, size_t n)
{
    if (n)
        qsort(events, n, sizeof *events, compare_events);
}

struct stratum {
    double at_risk[OBSERVER_COUNT];
    uint32_t observers[OBSERVER_COUNT]; /* decides emptiness: sums of doubles do not return to 0 */
    double share;
    double survival; /* of the stratum; without the shared invalidation hazard where that is used */
    bool shares_invalidation;
    bool other_counted; /* an "other" end has counted: losing these observers loses knowledge */
    bool lost;          /* nobody observes it any more */
};

/* Sums over strata of share * survival, split by who takes part in the shared hazard. */
struct mixture {
    double survival[2], unknown[2]; /* [shares_invalidation] */
    double invalidated;
    double shared_survival; /* exp(-shared cumulative hazard) */
    double shared_at_risk;
    uint32_t shared_observers;
    double other_factor;
};

static void set_survival(struct mixture *mixture, struct stratum *stratum, double survival)
{
    if (survival < 0)
        survival = 0;
    mixture->survival[stratum->shares_invalidation] +=
        stratum->share * (survival - stratum->survival);
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

static void count_invalidation(struct mixture *mixture, struct stratum *stratum, double increment)
{
    if (stratum->shares_invalidation) {
        double before = mixture->shared_survival;
        mixture->shared_survival *= exp(-increment);
        mixture->invalidated += mixture->survival[1] * (before - mixture->shared_survival);
    } else {
        double before = stratum->survival;
        set_survival(mixture, stratum, before * exp(-increment));
        mixture->invalidated += stratum->share * (before - stratum->survival);
    }
}

static void count_end(struct mixture *mixture, struct stratum *stratum,
                      const struct survival_event *event, double weight)
{
    double factor;

    switch (event->observer) {
    case OBSERVER_WINDOW:
        factor = 1 - weight / (stratum->at_risk[OBSERVER_WINDOW] + watching(stratum));
        /* The last observer's own end leaves nobody; the quotient may miss 1 by rounding. */
        if (stratum->observers[OBSERVER_WINDOW] == 1 && watching(stratum) == 0)
            factor = 0;
        set_survival(mixture, stratum, stratum->survival * factor);
        break;
    case OBSERVER_ACCESSED:
        factor = 1 - watch_part(stratum) * weight / stratum->at_risk[OBSERVER_ACCESSED];
        if (stratum->observers[OBSERVER_ACCESSED] == 1 && !stratum->observers[OBSERVER_WINDOW])
            factor = 0;
        set_survival(mixture, stratum, stratum->survival * factor);
        break;
    case OBSERVER_OTHER:
        factor = exp(-watch_part(stratum) * mixture->other_factor * event->multiplicity * weight /
                     stratum->at_risk[OBSERVER_OTHER]);
        stratum->other_counted = true;
        set_survival(mixture, stratum, stratum->survival * factor);
        break;
    default:
        count_invalidation(mixture, stratum,
                           event->multiplicity * weight /
                               (stratum->shares_invalidation
                                    ? mixture->shared_at_risk
                                    : stratum->at_risk[OBSERVER_INVALIDATION]));
    }
}

static void change_at_risk(struct mixture *mixture, struct stratum *stratum, unsigned observer,
                           double weight)
{
    uint32_t one = weight > 0 ? 1 : UINT32_MAX;

    stratum->observers[observer] += one;
    stratum->at_risk[observer] =
        stratum->observers[observer] ? stratum->at_risk[observer] + weight : 0;
    if (observer == OBSERVER_INVALIDATION && stratum->shares_invalidation) {
        mixture->shared_observers += one;
        mixture->shared_at_risk = mixture->shared_observers ? mixture->shared_at_risk + weight : 0;
    }
}

static void note_lost(struct mixture *mixture, struct stratum *stratum)
{
    if (stratum->lost || stratum->observers[OBSERVER_WINDOW])
        return;
    if (stratum->observers[OBSERVER_ACCESSED] &&
        (stratum->observers[OBSERVER_OTHER] || !stratum->other_counted))
        return;
    stratum->lost = true;
    mixture->unknown[stratum->shares_invalidation] += stratum->share * stratum->survival;
}

static void apply(struct mixture *mixture, struct stratum *stratum,
                  const struct survival_event *event, double weight)
{
    if (event->begins) {
        change_at_risk(mixture, stratum, event->observer, weight);
        return;
    }
    /* A lost stratum keeps its last value: what is left of its observers sees only a part. */
    if (event->multiplicity > 0 && !stratum->lost)
        count_end(mixture, stratum, event, weight);
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
    double survival = mixture->survival[0] + mixture->survival[1] * mixture->shared_survival;
    double unknown = mixture->unknown[0] + mixture->unknown[1] * mixture->shared_survival;
    /* Rounding of the running sums must not break monotony or the bounds. */
    double ceiling = curve->count ? curve->points[curve->count - 1].survival : 1;
    survival = survival < 0 ? 0 : survival > ceiling ? ceiling : survival;
    curve->points[curve->count++] = (struct survival_point){
        .time = time,
        .survival = survival < 1e-12 ? 0 : survival,
        .invalidated = mixture->invalidated,
        .unknown = unknown > survival ? survival : unknown,
    };
    return 0;
}

static double prepare(const struct survival_input *input, struct stratum *strata,
                      struct mixture *mixture)
{
    double total = 0;

    for (uint32_t k = 0; k < input->strata; k++) {
        strata[k].survival = 1;
        strata[k].shares_invalidation = input->shares_invalidation && input->shares_invalidation[k];
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
    for (uint32_t k = 0; k < input->strata && total > 0; k++) {
        strata[k].share = strata[k].at_risk[OBSERVER_WINDOW] / total;
        mixture->survival[strata[k].shares_invalidation] += strata[k].share;
    }
    return total;
}

static double stretched(const struct survival_input *input, double time)
{
    return time <= input->pivot ? time : input->pivot + (time - input->pivot) * input->scale;
}

int survival_estimate(const struct survival_input *input, struct survival_curve *out)
{
    struct stratum *strata = calloc(input->strata ? input->strata : 1, sizeof *strata);
    struct mixture mixture = {.shared_survival = 1, .other_factor = input->other_factor};
    int result = 0;

    out->count = 0;
    if (!strata)
        return -1;
    if (prepare(input, strata, &mixture) > 0)
        result = append(out, 0, &mixture);
    for (size_t i = 0; i < input->event_count && result == 0 && out->count;) {
        double raw = input->events[i].time, time = stretched(input, raw);
        for (; i < input->event_count && input->events[i].time == raw; i++) {
            const struct survival_event *event = &input->events[i];
            double weight = input->weight_of[event->sample];
            if (weight > 0)
                apply(&mixture, &strata[input->stratum_of[event->sample]], event,
                      event->observer == OBSERVER_WINDOW ? weight : weight * event->design);
        }
        if (time <= out->points[out->count - 1].time)
            out->count--; /* time 0, or times that stretching made equal */
        if (out->count == 0)
            time = 0;
        result = append(out, time, &mixture);
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

void survival_free(struct survival_curve *curve)
{
    free(curve->points);
    *curve = (struct survival_curve){0};
}
