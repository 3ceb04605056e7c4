/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared caches: other threads of the group use a line, too. When they come to watched lines, and
 * what they touch while a sample's window lasts (docs/estimators.md, "Shared caches").
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/access_clock.h"
#include "analysis/line_events.h"
#include "reuse/sort_keys.h"

static uint32_t window_reuse(const struct analysis *analysis, const struct analysed_sample *sample)
{
    return sample->record->window_reuse[line_size_index(analysis->line_size)];
}

/* ---- visits of other threads ---- */

static void set_crossing(struct analysed_sample *sample, const struct record_line_watch *watch,
                         const struct access_clock *clock, double elapsed_ns, double visits)
{
    uint64_t start = watch->monotonic_ns;

    sample->crossing = fmax(1, access_clock_between(clock, start, start + (uint64_t)elapsed_ns));
    sample->crossing_visits = (float)visits;
}

/*
 * From the sample on, all threads were watched. What counts is the first of the others in the
 * group; a store from outside ends the watch without telling more. One that tells nothing of its
 * visit's end is left to whoever watches the word where it ends.
 */
static void find_crossing(const struct analysis *analysis, const struct line_events *events,
                          const struct access_clock *clock, struct analysed_sample *sample)
{
    const struct record_sample *record = sample->record;
    const struct profile *profile = analysis->profiles[sample->profile];
    const struct record_line_watch *watch = profile_line_watch(profile, record->sample_id);
    const struct record_line_end *end = profile_line_end(profile, record->sample_id);
    uint32_t group = analysis_group_of(analysis, record->cpu);
    size_t n;
    const struct line_event_place *places;

    /* Without an end nobody knows how long it ran. */
    if (!watch || !end || watch->flags & LINE_WATCH_WAITS)
        return;
    set_crossing(sample, watch, clock, (double)end->loads_ns, 0);
    places = line_events_of(events, sample->profile, record->sample_id, &n);
    for (size_t i = 0; i < n; i++) {
        const struct record_line_event *event = places[i].event;
        bool stores = event->flags & LINE_EVENT_STORES || event->kind & ACCESS_STORE;

        if (event->thread_id == record->thread_id ||
            analysis_group_of(analysis, event->cpu) != group)
            continue;
        if ((double)event->elapsed_ns <= (double)end->loads_ns || event->kind & ACCESS_STORE)
            set_crossing(sample, watch, clock, (double)event->elapsed_ns,
                         line_event_visits(watch, event, analysis->run_line_size, !stores));
        break;
    }
    /* The thread itself came back first. */
    if (sample->end && sample->end->reason == WATCH_REUSED && sample->watched < sample->crossing) {
        sample->crossing = sample->watched;
        sample->crossing_visits = 0;
    }
}

/*
 * Kinds of samples that are given the registers with different probabilities: loads, and stores
 * with and without others seen at the line. Within a kind it depends on the state of the registers
 * alone, which says nothing of the line.
 */
enum offer_kind { OFFER_USE, OFFER_SHARED, OFFER_ALONE, OFFER_KINDS, OFFER_NONE = OFFER_KINDS };

static enum offer_kind offer_of(const struct analysis *analysis,
                                const struct analysed_sample *sample)
{
    unsigned flags = sample->record->flags;

    if (window_reuse(analysis, sample) != REUSE_TIME_NONE)
        return OFFER_NONE;
    if (flags & SAMPLE_USE_OFFERED)
        return OFFER_USE;
    if (sample->record->kind != ACCESS_STORE || !(flags & SAMPLE_LINE_OFFERED))
        return OFFER_NONE;
    return flags & SAMPLE_LINE_SHARED ? OFFER_SHARED : OFFER_ALONE;
}

int analysis_find_crossings(struct analysis *analysis, const struct access_clock *clocks)
{
    struct line_events events;
    size_t offered[OFFER_KINDS] = {0}, given[OFFER_KINDS] = {0};

    if (line_events_create(analysis, &events))
        return -1;
    for (size_t i = 0; i < analysis->count; i++) {
        struct analysed_sample *sample = &analysis->samples[i];
        enum offer_kind kind = offer_of(analysis, sample);

        if (kind == OFFER_NONE)
            continue;
        find_crossing(analysis, &events, &clocks[sample->domain], sample);
        offered[kind]++;
        given[kind] += sample->crossing > 0;
    }
    for (size_t i = 0; i < analysis->count; i++) {
        struct analysed_sample *sample = &analysis->samples[i];
        enum offer_kind kind = offer_of(analysis, sample);

        if (sample->crossing > 0)
            sample->crossing_design = (float)((double)offered[kind] / (double)given[kind]);
    }
    line_events_free(&events);
    return 0;
}

/* ---- lines of other threads during windows ---- */

/* A window, by when it ends: in accesses of the thread, by reuse before those without. */
static uint64_t end_of_window(const struct analysis *analysis, const struct analysed_sample *sample)
{
    uint32_t reuse = window_reuse(analysis, sample);

    return reuse != REUSE_TIME_NONE ? (uint64_t)reuse << 1
                                    : (uint64_t)sample->record->window_accesses << 1 | 1;
}

/*
 * Takes from each sample of the cell the lines that its own thread touches in its window, on
 * average: the integral of the survival that the windows of the cell show. 0 or -1.
 */
static int subtract_own_lines(struct analysis *analysis, const struct cell *cell)
{
    struct sort_key *keys = malloc((2 * cell->count + 1) * sizeof *keys);
    double at_risk = 0, survival = 1, before = 0, lines = 0;

    if (!keys)
        return -1;
    for (size_t i = 0; i < cell->count; i++) {
        uint32_t index = analysis->by_cell[cell->first + i];

        keys[i] = (struct sort_key){end_of_window(analysis, &analysis->samples[index]), index};
        at_risk += analysis->samples[index].weight;
    }
    const struct sort_key *sorted = sort_keys(keys, keys + cell->count, cell->count);
    for (size_t i = 0; i < cell->count; i++) {
        struct analysed_sample *sample = &analysis->samples[sorted[i].index];
        double accesses = (double)(sorted[i].key >> 1);

        lines += survival * (accesses - before);
        before = accesses;
        sample->others_lines = fmax(0, sample->others_lines - lines);
        if (!(sorted[i].key & 1) && at_risk > 0)
            survival *= fmax(0, 1 - sample->weight / at_risk);
        at_risk -= sample->weight;
    }
    free(keys);
    return 0;
}

/* Lines that are used until the windows of a view's cohorts end; lines: by cohort. */
static void find_lines(const struct view *view, const struct survival_curve *curve, double *lines)
{
    size_t point = 0;

    /* The events come in the order of the curve. */
    for (size_t i = 0; i < view->event_count; i++) {
        const struct survival_event *event = &view->events[i];

        while (point + 1 < curve->count && curve->points[point + 1].time <= event->time)
            point++;
        if (event->observer == OBSERVER_WINDOW)
            lines[event->sample] =
                curve->points[point].survival_area +
                (event->time - curve->points[point].time) * curve->points[point].survival;
    }
}

/* What all threads of the group touch while the window of a sample lasts. 0 or -1. */
static int find_all_lines(struct analysis *analysis, const struct cell *cell)
{
    struct survival_curve curve = {0};
    struct view view;
    double *lines;
    int result = view_create(analysis, analysis->by_cell + cell->first, cell->count, &view);

    if (result)
        return result;
    lines = malloc((view.cohorts + 1) * sizeof *lines);
    result = lines ? view_estimate(analysis, &view, 0, &curve) : -1;
    if (result == 0 && curve.count) {
        find_lines(&view, &curve, lines);
        for (size_t i = 0; i < view.count; i++)
            analysis->samples[view.sample[i]].others_lines = lines[view.cohort_of[i]];
    }
    free(lines);
    view_free(&view);
    survival_free(&curve);
    return result;
}

int analysis_add_others_lines(struct analysis *analysis)
{
    for (size_t c = 0; c < analysis->cell_count; c++) {
        const struct cell *cell = &analysis->cells[c];

        if (cell->count && (find_all_lines(analysis, cell) || subtract_own_lines(analysis, cell)))
            return -1;
    }
    return 0;
}
