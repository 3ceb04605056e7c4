/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/communication/line_events.h"

#include <stdlib.h>

#include "sampling/watch_design.h"
#include "support/memory.h"

static int compare_events(const void *a, const void *b)
{
    const struct line_event_place *x = a, *y = b;
    bool p = x->event->flags & LINE_EVENT_OPENS, q = y->event->flags & LINE_EVENT_OPENS;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    if (x->event->sample_id != y->event->sample_id)
        return x->event->sample_id < y->event->sample_id ? -1 : 1;
    if (p != q)
        return p ? -1 : 1;
    if (x->event->elapsed_ns != y->event->elapsed_ns)
        return x->event->elapsed_ns < y->event->elapsed_ns ? -1 : 1;
    return x->event < y->event ? -1 : x->event > y->event;
}

void line_events_create(const struct analysis *analysis, struct line_events *out)
{
    size_t capacity = 1;

    *out = (struct line_events){0};
    for (size_t p = 0; p < analysis->profile_count; p++)
        capacity += analysis->profiles[p]->line_events.count;
    out->items = allocate(capacity, sizeof *out->items);
    for (size_t p = 0; p < analysis->profile_count; p++)
        for (size_t i = 0; i < analysis->profiles[p]->line_events.count; i++)
            out->items[out->count++] = (struct line_event_place){
                (uint32_t)p, &analysis->profiles[p]->line_events.items[i]};
    qsort(out->items, out->count, sizeof *out->items, compare_events);
}

void line_events_free(struct line_events *events)
{
    free(events->items);
    *events = (struct line_events){0};
}

const struct line_event_place *line_events_of(const struct line_events *events, uint32_t profile,
                                              uint64_t sample_id, size_t *n)
{
    size_t low = 0, high = events->count, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct line_event_place *place = &events->items[middle];

        if (place->profile < profile ||
            (place->profile == profile && place->event->sample_id < sample_id))
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < events->count && events->items[end].profile == profile &&
                    events->items[end].event->sample_id == sample_id;
         end++)
        ;
    *n = end - low;
    return events->items + low;
}

/* Inverse of the probability that a word of the access is watched beside the sampled one. */
static double inverse_probability(const struct record_line_watch *watch, uint32_t line_size,
                                  uint32_t first, uint32_t last)
{
    double probability = 0;

    for (uint32_t word = first; word <= last && word < line_size / WATCH_WORD; word++)
        probability += line_watch_word_probability(watch, line_size, word);
    return probability > 0 ? 1 / probability : 0;
}

double line_event_visits(const struct record_line_watch *watch,
                         const struct record_line_event *event, uint32_t line_size, bool read)
{
    uint32_t own = (uint32_t)(watch->address % line_size) / WATCH_WORD;
    uint32_t other = (uint32_t)(watch->address2 % line_size) / WATCH_WORD;
    uint32_t first = event->offset / WATCH_WORD, last = first;

    if (event->flags & LINE_EVENT_VISIT_KNOWN) {
        if (event->flags & (read ? LINE_EVENT_READ_ENDS : LINE_EVENT_STORE_ENDS))
            return 1;
        if (event->flags & (read ? LINE_EVENT_READ_ENDS2 : LINE_EVENT_STORE_ENDS2))
            return inverse_probability(watch, line_size, other, other);
        return 0;
    }
    if (!(event->flags & LINE_EVENT_SECOND))
        return 1;
    if (event->flags & LINE_EVENT_KIND_KNOWN && event->width)
        last = (event->offset + event->width - 1u) / WATCH_WORD;
    return own >= first && own <= last ? 0 : inverse_probability(watch, line_size, first, last);
}
