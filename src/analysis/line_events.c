/* SPDX-License-Identifier: BSD-3-Clause */
/* What was seen of watched lines, in order (docs/estimators.md, "Communication"). */
#include <stdlib.h>

#include "analysis/communication_internal.h"

static int compare_events(const void *a, const void *b)
{
    const struct line_event *x = a, *y = b;
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

int line_events_create(const struct analysis *analysis, struct line_events *events)
{
    size_t capacity = 1;

    for (size_t p = 0; p < analysis->profile_count; p++)
        capacity += analysis->profiles[p]->line_events.count;
    *events = (struct line_events){.items = malloc(capacity * sizeof *events->items)};
    if (!events->items)
        return -1;
    for (size_t p = 0; p < analysis->profile_count; p++)
        for (size_t i = 0; i < analysis->profiles[p]->line_events.count; i++)
            events->items[events->count++] = (struct line_event){
                .event = &analysis->profiles[p]->line_events.items[i], .profile = (uint32_t)p};
    qsort(events->items, events->count, sizeof *events->items, compare_events);
    return 0;
}

void line_events_free(struct line_events *events)
{
    free(events->items);
    *events = (struct line_events){0};
}

const struct line_event *line_events_of(const struct line_events *events,
                                        const struct analysed_sample *sample, size_t *count)
{
    size_t low = 0, high = events->count, end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct line_event *item = &events->items[middle];

        if (item->profile < sample->profile || (item->profile == sample->profile &&
                                                item->event->sample_id < sample->record->sample_id))
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < events->count && events->items[end].profile == sample->profile &&
                    events->items[end].event->sample_id == sample->record->sample_id;
         end++)
        ;
    *count = end - low;
    return &events->items[low];
}
