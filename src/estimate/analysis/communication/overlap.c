/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/communication/overlap.h"

#include <math.h>
#include <stdlib.h>

#include "sampling/line_mask.h"
#include "sampling/watch_design.h"
#include "support/memory.h"

/* Watches that an instruction needs to speak for itself. */
static const double WATCHES_MIN = 4;

/* What each watch saw: by position of its store, index of the watch + 1, and whether another thread
 * came. */
struct sight {
    uint32_t watch;
    bool met;
};

static int compare_overlaps(const void *a, const void *b)
{
    const struct overlap *x = a, *y = b;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    return x->ip < y->ip ? -1 : x->ip > y->ip;
}

static struct sight *list_sights(const struct segments *segments)
{
    struct sight *sights = allocate_zeroed(segments->count + 1, sizeof *sights);

    for (size_t i = 0; i < segments->watch_count; i++) {
        const struct followed *watch = &segments->watches[i];

        sights[watch->position] =
            (struct sight){.watch = (uint32_t)i + 1, .met = watch->record->flags & LINE_WATCH_MET};
    }
    for (size_t i = 0; i < segments->arrival_count; i++)
        if (!segments->arrivals[i].own)
            sights[segments->watches[segments->arrivals[i].watch].position].met = true;
    return sights;
}

/* How often other threads, while they are at the line, touch the watched words, per ns. */
static double visible_rate(const struct analysis *analysis, const struct contended_line *line,
                           uint32_t owner, const struct record_line_watch *watch)
{
    uint32_t size = analysis->run_line_size;
    uint64_t start = line_start(watch->address, size);
    uint64_t words = line_mask(start, size, watch->address, WATCH_WORD);
    double rate = 0;

    if (watch->address2)
        words |= line_mask(start, size, watch->address2, WATCH_WORD);
    for (size_t t = 0; t < line->thread_count; t++) {
        const struct contended_thread *thread = &line->threads[t];
        double seen = 0, all = thread->loads + thread->stores;

        for (size_t i = thread->first;
             thread->thread_id != owner && i < thread->first + thread->count; i++) {
            const struct analysed_sample *sample = &analysis->samples[line->uses[i].sample];

            if (line_mask(start, size, sample->record->address, sample->record->width) & words)
                seen += sample->weight;
        }
        if (all > 0)
            rate += seen / all * (line->active[t].loads + line->active[t].stores);
    }
    return rate;
}

/* How long the watch would have shown others, ns: from arming to its end. */
static double span_of(const struct record_sample *sample, const struct followed *watch)
{
    double before = watch->record->monotonic_ns > sample->monotonic_ns
                        ? (double)(watch->record->monotonic_ns - sample->monotonic_ns)
                        : 0;

    return before + watch->until;
}

static void add_line(const struct analysis *analysis, const struct segments *segments,
                     const struct sight *sights, const struct contended_line *line,
                     struct overlaps *overlaps)
{
    for (size_t i = 0; i < line->count; i++) {
        const struct record_sample *sample = analysis->samples[line->uses[i].sample].record;
        size_t position = segments_position(segments, line->uses[i].sample);
        const struct followed *watch;
        double rate;

        if (position == segments->count || !sights[position].watch ||
            !contended_stores_again(sample) || sample->flags & SAMPLE_TURN)
            continue;
        watch = &segments->watches[sights[position].watch - 1];
        rate = visible_rate(analysis, line, sample->thread_id, watch->record);
        if (rate > 0)
            overlaps->items[overlaps->count++] =
                (struct overlap){line->uses[i].profile, sample->ip, sights[position].met,
                                 -expm1(-rate * span_of(sample, watch))};
    }
}

static void add_up(struct overlaps *overlaps)
{
    size_t count = 0;

    qsort(overlaps->items, overlaps->count, sizeof *overlaps->items, compare_overlaps);
    for (size_t i = 0; i < overlaps->count; i++) {
        struct overlap *last = count ? &overlaps->items[count - 1] : NULL;

        if (last && compare_overlaps(last, &overlaps->items[i]) == 0) {
            last->met += overlaps->items[i].met;
            last->expected += overlaps->items[i].expected;
        } else {
            overlaps->items[count++] = overlaps->items[i];
        }
    }
    overlaps->count = count;
}

void overlaps_create(const struct analysis *analysis, const struct line_uses *uses,
                     const struct segments *segments, struct overlaps *overlaps)
{
    struct sight *sights = list_sights(segments);
    struct contended_line line;

    contended_line_create(&line, uses->count);
    *overlaps = (struct overlaps){.items = allocate(segments->count + 1, sizeof *overlaps->items)};
    for (size_t i = 0, end; i < uses->count; i = end) {
        end = line_uses_end(uses, i);
        contended_line_describe(analysis, uses, uses->items + i, end - i, &line);
        if (line.thread_count > 1 && line.stores)
            add_line(analysis, segments, sights, &line, overlaps);
    }
    add_up(overlaps);
    contended_line_free(&line);
    free(sights);
}

void overlaps_free(struct overlaps *overlaps)
{
    free(overlaps->items);
    *overlaps = (struct overlaps){0};
}

struct estimate overlaps_of(const struct overlaps *overlaps, uint32_t profile, uint64_t ip)
{
    double met = 0, expected = 0;

    for (size_t i = 0; i < overlaps->count; i++) {
        const struct overlap *one = &overlaps->items[i];

        if (one->profile != profile)
            continue;
        if (one->ip == ip && fmax(one->met, one->expected) >= WATCHES_MIN)
            return contention_overlap(one->met, one->expected);
        met += one->met;
        expected += one->expected;
    }
    return contention_overlap(met, expected);
}
