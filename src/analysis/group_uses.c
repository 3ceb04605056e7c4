/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared caches: other threads of the group use a line, too. When they come to watched lines, and
 * what they touch while a sample's window lasts (docs/estimators.md, "Shared caches").
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/access_clock.h"
#include "analysis/line_events.h"

static uint32_t window_reuse(const struct analysis *analysis, const struct analysed_sample *sample)
{
    return sample->record->window_reuse[line_size_index(analysis->line_size)];
}

/* ---- visits of other threads ---- */

static void set_crossing(struct analysed_sample *sample, const struct record_line_watch *watch,
                         const struct access_clock *clock, double elapsed_ns, double visits)
{
    uint64_t start = watch->monotonic_ns;
    double at = access_clock_between(clock, start, start + (uint64_t)elapsed_ns);

    if (watch->flags & LINE_WATCH_LATE)
        sample->crossing_from = sample->record->window_accesses * sample->dilation;
    sample->crossing = sample->crossing_from + fmax(at, 1);
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

/* A window that ends by reuse, or without. */
struct window_length {
    double accesses, weight;
    bool reused;
};

static int compare_lengths(const void *a, const void *b)
{
    const struct window_length *x = a, *y = b;

    if (x->accesses != y->accesses)
        return x->accesses < y->accesses ? -1 : 1;
    return (int)y->reused - (int)x->reused;
}

/* Lines that a thread touches in so many accesses, on average: the integral of the survival that
 * the windows of a cell show. */
struct own_lines {
    double *accesses, *lines;
    size_t count;
};

static int own_lines_create(const struct analysis *analysis, const struct cell *cell,
                            struct own_lines *out)
{
    struct window_length *windows = malloc((cell->count + 1) * sizeof *windows);
    double at_risk = 0, survival = 1, before = 0, lines = 0;

    *out = (struct own_lines){.accesses = malloc((cell->count + 1) * sizeof(double)),
                              .lines = malloc((cell->count + 1) * sizeof(double))};
    if (!windows || !out->accesses || !out->lines) {
        free(windows);
        return -1;
    }
    for (size_t i = 0; i < cell->count; i++) {
        const struct analysed_sample *sample =
            &analysis->samples[analysis->by_cell[cell->first + i]];
        uint32_t reuse = window_reuse(analysis, sample);
        bool reused = reuse != REUSE_TIME_NONE;

        windows[i] = (struct window_length){reused ? reuse : sample->record->window_accesses,
                                            sample->weight, reused};
        at_risk += sample->weight;
    }
    qsort(windows, cell->count, sizeof *windows, compare_lengths);
    for (size_t i = 0; i < cell->count; i++) {
        lines += survival * (windows[i].accesses - before);
        before = windows[i].accesses;
        out->accesses[i] = before;
        out->lines[i] = lines;
        if (windows[i].reused && at_risk > 0)
            survival *= fmax(0, 1 - windows[i].weight / at_risk);
        at_risk -= windows[i].weight;
    }
    out->count = cell->count;
    free(windows);
    return 0;
}

static void own_lines_free(struct own_lines *own)
{
    free(own->accesses);
    free(own->lines);
}

static double own_lines_in(const struct own_lines *own, double accesses)
{
    size_t low = 0, high = own->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (own->accesses[middle] < accesses)
            low = middle + 1;
        else
            high = middle;
    }
    return low < own->count ? own->lines[low] : own->count ? own->lines[own->count - 1] : 0;
}

static int add_in_cell(struct analysis *analysis, const struct cell *cell)
{
    struct survival_curve curve = {0};
    struct own_lines own;
    struct view view;
    int result = own_lines_create(analysis, cell, &own);

    if (result == 0 &&
        view_create(analysis, analysis->by_cell + cell->first, cell->count, &view) == 0) {
        result = view_estimate(analysis, &view, 0, &curve);
        for (size_t i = 0; i < view.count && result == 0 && curve.count; i++) {
            struct analysed_sample *sample = &analysis->samples[view.sample[i]];
            uint32_t reuse = window_reuse(analysis, sample);
            double accesses = reuse != REUSE_TIME_NONE ? reuse : sample->record->window_accesses;
            double all = survival_area_at(&curve, accesses * sample->dilation);

            sample->others_lines = fmax(0, all - own_lines_in(&own, accesses));
        }
        view_free(&view);
        survival_free(&curve);
    } else {
        result = -1;
    }
    own_lines_free(&own);
    return result;
}

int analysis_add_others_lines(struct analysis *analysis)
{
    for (size_t c = 0; c < analysis->cell_count; c++)
        if (analysis->cells[c].count && add_in_cell(analysis, &analysis->cells[c]))
            return -1;
    return 0;
}
