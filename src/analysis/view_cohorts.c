/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cohorts of a view. Nothing tells samples of one stratum apart whose windows end at the same time
 * in the same way and that nobody watched: while windows alone end,
 *
 *     (1 - a / R) (1 - b / (R - a))  =  1 - (a + b) / R
 *
 * with a, b their weights and R what is at risk, watches included. So they are estimated as one,
 * with the sum of their weights, and most samples of a thread's own cache are in few cohorts.
 */
#include <stdlib.h>

#include "analysis/internal.h"

/* The cohort of a stratum that can be joined. */
struct open_cohort {
    double time;
    bool any, reused;
    uint32_t number;
};

static bool joins(const struct open_cohort *cohort, const struct survival_event *event)
{
    return cohort->any && cohort->time == event->time &&
           cohort->reused == (event->multiplicity > 0);
}

/* events_of: by sample, 2: two or more. open: by stratum, zeroed. */
static void join_alike(struct view *view, const uint8_t *events_of, struct open_cohort *open)
{
    size_t kept = 0;

    for (size_t i = 0; i < view->event_count; i++) {
        const struct survival_event *event = &view->events[i];
        uint32_t stratum = view->stratum_of[event->sample];

        if (event->observer == OBSERVER_WINDOW) {
            bool alone = events_of[event->sample] == 1;

            if (alone && joins(&open[stratum], event)) {
                view->cohort_of[event->sample] = open[stratum].number;
                continue;
            }
            if (alone)
                open[stratum] = (struct open_cohort){event->time, true, event->multiplicity > 0,
                                                     (uint32_t)view->cohorts};
            view->cohort_of[event->sample] = (uint32_t)view->cohorts;
            view->first_of[view->cohorts++] = event->sample;
        }
        view->events[kept++] = *event;
    }
    view->event_count = kept;
    for (size_t i = 0; i < kept; i++)
        view->events[i].sample = view->cohort_of[view->events[i].sample];
    for (size_t c = 0; c < view->cohorts; c++)
        view->cohort_stratum[c] = view->stratum_of[view->first_of[c]];
}

int view_form_cohorts(struct view *view)
{
    size_t n = view->count;
    uint8_t *events_of = calloc(n + 1, sizeof *events_of);
    struct open_cohort *open = calloc(view->strata + 1, sizeof *open);
    int result = -1;

    view->cohort_of = malloc((n + 1) * sizeof *view->cohort_of);
    view->first_of = malloc((n + 1) * sizeof *view->first_of);
    view->cohort_stratum = malloc((n + 1) * sizeof *view->cohort_stratum);
    if (events_of && open && view->cohort_of && view->first_of && view->cohort_stratum) {
        for (size_t i = 0; i < view->event_count; i++)
            events_of[view->events[i].sample] += events_of[view->events[i].sample] < 2;
        join_alike(view, events_of, open);
        view->cohort_weight = malloc((view->cohorts + 1) * sizeof *view->cohort_weight);
        result = view->cohort_weight ? 0 : -1;
    }
    free(events_of);
    free(open);
    return result;
}
