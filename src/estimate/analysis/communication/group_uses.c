/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared caches: other threads of the group use a line, too. When they come to lines that were open
 * in their bursts (docs/estimators.md, "Shared caches").
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/communication/line_events.h"
#include "analysis/internal.h"
#include "analysis/rates/access_clock.h"
#include "support/memory.h"

static void set_crossing(struct crossing *crossing, const struct record_line_watch *watch,
                         const struct access_clock *clock, double elapsed_ns, double visits)
{
    uint64_t start = watch->monotonic_ns;

    crossing->time = fmax(1, access_clock_between(clock, start, start + (uint64_t)elapsed_ns));
    crossing->visits = visits;
}

/*
 * From the sample on, all threads were watched. What counts is the first of the others in the
 * group; a store from outside ends the watch without telling more. One that tells nothing of its
 * visit's end is left to whoever watches the word where it ends. False: nobody watched.
 */
static bool find_crossing(const struct analysis *analysis, const struct line_events *events,
                          const struct access_clock *clock, const struct analysed_sample *sample,
                          struct crossing *crossing)
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
        return false;
    set_crossing(crossing, watch, clock, (double)end->loads_ns, 0);
    places = line_events_of(events, sample->profile, record->sample_id, &n);
    for (size_t i = 0; i < n; i++) {
        const struct record_line_event *event = places[i].event;
        bool stores = event->flags & LINE_EVENT_STORES || event->kind & ACCESS_STORE;

        if (event->thread_id == record->thread_id ||
            analysis_group_of(analysis, event->cpu) != group)
            continue;
        if ((double)event->elapsed_ns <= (double)end->loads_ns || event->kind & ACCESS_STORE)
            set_crossing(crossing, watch, clock, (double)event->elapsed_ns,
                         line_event_visits(watch, event, analysis->run_line_size, !stores));
        break;
    }
    return true;
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

    if (sample->burst == NO_BURST ||
        sample->record->reuse_time[line_size_index(analysis->line_size)] != REUSE_TIME_NONE)
        return OFFER_NONE;
    if (flags & SAMPLE_USE_OFFERED)
        return OFFER_USE;
    if (sample->record->kind != ACCESS_STORE || !(flags & SAMPLE_LINE_OFFERED))
        return OFFER_NONE;
    return flags & SAMPLE_LINE_SHARED ? OFFER_SHARED : OFFER_ALONE;
}

static int compare_crossings(const void *left, const void *right)
{
    const struct crossing *a = left, *b = right;

    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->burst > b->burst) - (a->burst < b->burst);
}

void analysis_find_crossings(struct analysis *analysis, const struct access_clock *clocks)
{
    struct line_events events;
    double offered[OFFER_KINDS] = {0}, given[OFFER_KINDS] = {0};
    enum offer_kind *kinds = allocate(analysis->count + 1, sizeof *kinds);

    analysis->crossings = allocate(analysis->count + 1, sizeof *analysis->crossings);
    line_events_create(analysis, &events);
    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];
        const struct record_sample *record = sample->record;
        enum offer_kind kind = offer_of(analysis, sample);
        struct crossing crossing = {
            .burst = sample->burst,
            .ip = record->ip,
            .distance = record->lines_ahead ? record->lines_ahead - 1 : 0,
            .ahead = record->accesses_ahead * sample->dilation,
            .weight = sample->weight,
        };

        if (kind == OFFER_NONE)
            continue;
        offered[kind] += sample->weight;
        if (!find_crossing(analysis, &events, &clocks[sample->domain], sample, &crossing))
            continue;
        given[kind] += sample->weight;
        kinds[analysis->crossing_count] = kind;
        analysis->crossings[analysis->crossing_count++] = crossing;
    }
    for (size_t i = 0; i < analysis->crossing_count; i++)
        analysis->crossings[i].weight *= offered[kinds[i]] / given[kinds[i]];
    qsort(analysis->crossings, analysis->crossing_count, sizeof *analysis->crossings,
          compare_crossings);
    line_events_free(&events);
    free(kinds);
}
