/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the reader puts each type of record, and which of several with one key it keeps. */
#include <string.h>

#include "profile/reader_internal.h"

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_histograms(const void *left, const void *right)
{
    const struct record_histogram *a = left;
    const struct record_histogram *b = right;
    int order = compare_numbers(a->scope, b->scope);
    order = order ? order : compare_numbers(a->measure, b->measure);
    order = order ? order : compare_numbers(a->line_size, b->line_size);
    order = order ? order : compare_numbers(a->region_id, b->region_id);
    order = order ? order : compare_numbers(a->key, b->key);
    return order ? order : compare_numbers(a->key2, b->key2);
}

/* Everything before the counts is the key; a structure without padding compares as bytes. */
static int compare_transfers(const void *left, const void *right)
{
    return memcmp(left, right, offsetof(struct record_transfer, transfers));
}

static int compare_process_transfers(const void *left, const void *right)
{
    return memcmp(left, right, offsetof(struct record_process_transfer, transfers));
}

/* The tail is terminated by then. */
static int compare_counters(const void *left, const void *right)
{
    const struct record_counter *a = left;
    const struct record_counter *b = right;
    int order = compare_numbers(a->type, b->type);
    order = order ? order : compare_numbers(a->config, b->config);
    order = order ? order : compare_numbers(a->trust, b->trust);
    return order ? order : strcmp(a->name, b->name);
}

#define ARRAY_OF(member) .array = offsetof(struct profile, member)
#define FIXED(tag, member) .fixed_size = sizeof(struct tag), ARRAY_OF(member)
#define WITH_TAIL(tag, field, kind, member)                                                        \
    .tail = (kind), .fixed_size = offsetof(struct tag, field), ARRAY_OF(member)

const struct record_layout record_layouts[] = {
    {.type = RECORD_RUN, .tail = TAIL_PAIRS, ARRAY_OF(run)},
    {.type = RECORD_CACHE, FIXED(record_cache, caches)},
    {.type = RECORD_MODULE,
     .id_size = 4,
     .keep = KEEP_LAST,
     WITH_TAIL(record_module, path, TAIL_TEXT, modules)},
    {.type = RECORD_MODULE_END, FIXED(record_module_end, module_ends)},
    {.type = RECORD_MAPPING, WITH_TAIL(record_mapping, path, TAIL_TEXT, mappings)},
    {.type = RECORD_THREAD, .id_size = 4, .keep = KEEP_LAST, FIXED(record_thread, threads)},
    {.type = RECORD_THREAD_END,
     .id_size = 4,
     .keep = KEEP_LAST,
     FIXED(record_thread_end, thread_ends)},
    {.type = RECORD_CONTEXT, .id_size = 4, .keep = KEEP_FIRST, FIXED(record_context, contexts)},
    {.type = RECORD_SITE,
     .id_size = 4,
     .keep = KEEP_LAST,
     WITH_TAIL(record_site, name, TAIL_TEXT, sites)},
    {.type = RECORD_SITE_TOTALS,
     .id_size = 4,
     .keep = KEEP_LAST,
     FIXED(record_site_totals, site_totals)},
    {.type = RECORD_BURST,
     .id_size = 8,
     .keep = KEEP_FIRST,
     WITH_TAIL(record_burst, tail, TAIL_PROBES, bursts)},
    {.type = RECORD_SAMPLE, FIXED(record_sample, samples)},
    {.type = RECORD_WATCH_END,
     .id_size = 8,
     .keep = KEEP_FIRST,
     FIXED(record_watch_end, watch_ends)},
    {.type = RECORD_INVALIDATION,
     .id_size = 8,
     .keep = KEEP_FIRST,
     FIXED(record_invalidation, invalidations)},
    {.type = RECORD_LINE_WATCH,
     .id_size = 8,
     .keep = KEEP_FIRST,
     FIXED(record_line_watch, line_watches)},
    {.type = RECORD_LINE_EVENT, FIXED(record_line_event, line_events)},
    {.type = RECORD_LINE_END, .id_size = 8, .keep = KEEP_FIRST, FIXED(record_line_end, line_ends)},
    {.type = RECORD_SHARED_MAPPING,
     .id_size = 4,
     .keep = KEEP_FIRST,
     WITH_TAIL(record_shared_mapping, path, TAIL_TEXT, shared_mappings)},
    {.type = RECORD_SHARED_USE, FIXED(record_shared_use, shared_uses)},
    {.type = RECORD_PROCESS_TRANSFER,
     .keep = KEEP_LAST,
     .compare = compare_process_transfers,
     FIXED(record_process_transfer, process_transfers)},
    {.type = RECORD_TURN, FIXED(record_turn, turns)},
    {.type = RECORD_SERVED, FIXED(record_served, served)},
    {.type = RECORD_PROGRESS, WITH_TAIL(record_progress, variables, TAIL_VARIABLES, progress)},
    {.type = RECORD_STEPS,
     .id_size = 8,
     .keep = KEEP_FIRST,
     WITH_TAIL(record_steps, steps, TAIL_STEPS, steps)},
    {.type = RECORD_TIMED_LOADS,
     .id_size = 8,
     .keep = KEEP_FIRST,
     WITH_TAIL(record_timed_loads, loads, TAIL_TIMED_LOADS, timed_loads)},
    {.type = RECORD_TOTALS, .id_size = 4, .keep = KEEP_LAST, FIXED(record_totals, totals)},
    {.type = RECORD_NOTE, WITH_TAIL(record_note, text, TAIL_TEXT, notes)},
    {.type = RECORD_COUNTER,
     .keep = KEEP_LAST,
     .compare = compare_counters,
     WITH_TAIL(record_counter, name, TAIL_TEXT, counters)},
    {.type = RECORD_HISTOGRAM,
     .keep = KEEP_LAST,
     .compare = compare_histograms,
     WITH_TAIL(record_histogram, bins, TAIL_BINS, histograms)},
    {.type = RECORD_TRANSFER,
     .keep = KEEP_LAST,
     .compare = compare_transfers,
     FIXED(record_transfer, transfers)},
    {.type = RECORD_REGION,
     .id_size = 4,
     .keep = KEEP_LAST,
     WITH_TAIL(record_region, name, TAIL_TEXT, regions)},
    {.type = RECORD_ORIGIN,
     .id_size = 4,
     .keep = KEEP_LAST,
     WITH_TAIL(record_origin, pairs, TAIL_PAIRS, origins)},
};

const size_t record_layout_count = sizeof(record_layouts) / sizeof(record_layouts[0]);

struct record_array *layout_array(struct profile *profile, const struct record_layout *layout)
{
    return (struct record_array *)((char *)profile + layout->array);
}

const void *layout_record(const struct record_layout *layout, const struct record_array *array,
                          size_t i)
{
    if (layout->tail)
        return ((const void *const *)array->items)[i];
    return (const char *)array->items + i * layout->fixed_size;
}
