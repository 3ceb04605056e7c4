/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/curves/line_uses.h"

#include <stdlib.h>

#include "sampling/line_mask.h"
#include "support/memory.h"

/* A bin has so many samples of an average thread, if it is not longer than that. */
enum { BIN_SAMPLES = 16 };
static const uint64_t BIN_LEAST_NS = 200 * 1000 * 1000, BIN_MOST_NS = 2000 * 1000 * 1000;

struct instruction {
    uint32_t profile;
    uint64_t ip;
};

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_instructions(const void *a, const void *b)
{
    const struct instruction *x = a, *y = b;
    int order = compare(x->profile, y->profile);

    return order ? order : compare(x->ip, y->ip);
}

static int compare_lines(const struct line_use *x, const struct line_use *y)
{
    int order = compare(x->profile, y->profile);

    order = order ? order : compare(x->origin, y->origin);
    return order ? order : compare(x->line, y->line);
}

static int compare_uses(const void *a, const void *b)
{
    const struct line_use *x = a, *y = b;
    int order = compare_lines(x, y);

    order = order ? order : compare(x->bin, y->bin);
    order = order ? order : compare(x->thread_id, y->thread_id);
    return order ? order : compare(x->sample, y->sample);
}

bool line_uses_same_line(const struct line_use *x, const struct line_use *y)
{
    return compare_lines(x, y) == 0;
}

size_t line_uses_end(const struct line_uses *uses, size_t first)
{
    const struct line_use *items = uses->items;
    size_t end = first;

    while (end < uses->count && items[end].bin == items[first].bin &&
           line_uses_same_line(&items[end], &items[first]))
        end++;
    return end;
}

static void measure_spans(const struct analysis *analysis, struct line_uses *uses)
{
    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];
        struct line_uses_span *span = &uses->spans[p];
        uint64_t each;

        *span = (struct line_uses_span){.first = UINT64_MAX};
        for (size_t i = 0; i < profile->samples.count; i++) {
            uint64_t at = profile->samples.items[i].monotonic_ns;

            span->first = at < span->first ? at : span->first;
            span->last = at > span->last ? at : span->last;
        }
        if (span->first > span->last)
            span->first = span->last;
        each = BIN_SAMPLES * (span->last - span->first) * profile->threads.count /
               (profile->samples.count + 1);
        span->bin_ns = each < BIN_LEAST_NS ? BIN_LEAST_NS : each > BIN_MOST_NS ? BIN_MOST_NS : each;
    }
}

double line_uses_bin_width(const struct line_uses *uses, const struct line_use *use)
{
    const struct line_uses_span *span = &uses->spans[use->profile];
    uint64_t from = use->bin * span->bin_ns, to = from + span->bin_ns;

    from = from > span->first ? from : span->first;
    to = to < span->last ? to : span->last;
    return to > from ? (double)(to - from) : 1;
}

/* All instructions that were sampled to store. */
static struct instruction *list_stores(const struct analysis *analysis, size_t *count)
{
    struct instruction *stores = allocate(analysis->count + 1, sizeof *stores);

    *count = 0;
    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];

        if (sample->record->kind == ACCESS_STORE)
            stores[(*count)++] = (struct instruction){sample->profile, sample->record->ip};
    }
    qsort(stores, *count, sizeof *stores, compare_instructions);
    return stores;
}

static void list_uses(const struct analysis *analysis, const struct instruction *stores,
                      size_t store_count, struct line_uses *uses)
{
    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];
        const struct record_sample *record = sample->record;
        const struct record_thread *thread =
            profile_thread(analysis->profiles[sample->profile], record->thread_id);
        struct instruction key = {sample->profile, record->ip};

        if (record->kind != ACCESS_STORE &&
            bsearch(&key, stores, store_count, sizeof key, compare_instructions))
            continue;
        uses->items[uses->count++] = (struct line_use){
            .line = line_start(record->address, analysis->run_line_size),
            .bin = record->monotonic_ns / uses->spans[sample->profile].bin_ns,
            .profile = sample->profile,
            .origin = thread ? thread->origin_id : 0,
            .thread_id = record->thread_id,
            .sample = (uint32_t)i,
            .store = record->kind == ACCESS_STORE,
        };
    }
    qsort(uses->items, uses->count, sizeof *uses->items, compare_uses);
}

void line_uses_create(const struct analysis *analysis, struct line_uses *uses)
{
    size_t store_count;
    struct instruction *stores = list_stores(analysis, &store_count);

    *uses = (struct line_uses){
        .items = allocate(analysis->count + 1, sizeof *uses->items),
        .spans = allocate(analysis->profile_count + 1, sizeof *uses->spans),
    };
    measure_spans(analysis, uses);
    list_uses(analysis, stores, store_count, uses);
    free(stores);
}

void line_uses_free(struct line_uses *uses)
{
    free(uses->items);
    free(uses->spans);
    *uses = (struct line_uses){0};
}
