/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From records to segments: sampled stores, what was seen after them, and which of them are alike
 * (docs/communication.md, "Communication").
 */
#define _GNU_SOURCE /* qsort_r */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication/communication_internal.h"
#include "analysis/communication/line_events.h"
#include "sampling/line_mask.h"
#include "sampling/watch_design.h"
#include "support/memory.h"

/* Watches that a stratum of its own needs. */
enum { STRATUM_WATCHES_MIN = 2 };

static bool is_within(const struct record_sample *sample)
{
    return sample->flags & SAMPLE_LINE_VISIT && sample->next_store != REUSE_TIME_NONE;
}

/* ---- arrivals ---- */

/* Bytes that the access touched; the whole word when that is not known. */
static uint64_t bytes_of(const struct record_line_event *event, uint32_t line_size)
{
    bool known = event->flags & LINE_EVENT_KIND_KNOWN && event->width;

    return line_mask(0, line_size, event->offset, known ? event->width : WATCH_WORD);
}

static bool is_certain(const struct record_line_event *event, bool read)
{
    if (event->flags & LINE_EVENT_VISIT_KNOWN)
        return event->flags & (read ? LINE_EVENT_READ_ENDS : LINE_EVENT_STORE_ENDS);
    return !(event->flags & LINE_EVENT_SECOND);
}

static bool read_before(const struct segments *segments, uint32_t last, uint32_t thread_id)
{
    for (; last; last = segments->arrivals[last - 1].previous)
        if (segments->arrivals[last - 1].event->thread_id == thread_id)
            return true;
    return false;
}

/* Kinds are sometimes not to be had from the instruction; then the visit may tell. */
static uint8_t kind_of(const struct record_line_event *event)
{
    if (event->kind || !(event->flags & LINE_EVENT_VISIT_KNOWN))
        return event->kind;
    return event->flags & LINE_EVENT_STORES && !event->visit_read ? ACCESS_STORE : ACCESS_LOAD;
}

static void list_arrivals(const struct analysis *analysis, struct segments *segments,
                          uint32_t watch, const struct line_event_place *events, size_t n,
                          double tolerance)
{
    struct followed *followed = &segments->watches[watch];
    const struct record_sample *sample = analysis->samples[followed->sample].record;
    uint32_t reads = 0;

    for (size_t i = 0; i < n; i++) {
        const struct record_line_event *event = events[i].event;
        bool own = event->thread_id == sample->thread_id;
        bool read = !(kind_of(event) & ACCESS_STORE);
        double at = fmax(0, (double)event->elapsed_ns - tolerance);

        if (read && (own || read_before(segments, reads, event->thread_id)))
            continue;
        /* The thread's own store is later than what others do at once: no trap of another thread
         * held it up. */
        if (own && tolerance > 0)
            at = fmax((double)event->elapsed_ns, 1);
        /* It comes after a wait, in which others had their turns, held up by the traps of all. */
        if (own && sample->flags & SAMPLE_TURN)
            at += HANDLER_NS;
        segments->arrivals[segments->arrival_count++] = (struct arrival){
            .event = event,
            .watch = watch,
            .previous = reads,
            .class = read ? ARRIVAL_READ : ARRIVAL_END,
            .own = own,
            .at = at,
            .multiplicity =
                line_event_visits(followed->record, event, analysis->run_line_size, read),
            .certain = is_certain(event, read),
            .bytes = bytes_of(event, analysis->run_line_size),
        };
        if (read) {
            followed->last_read = reads = (uint32_t)segments->arrival_count;
            followed->loads_until = fmax(followed->loads_until, at);
            continue;
        }
        followed->until = at;
        followed->loads_until = at;
        return;
    }
}

/* ---- watches ---- */

/* How far apart traps of different threads must be for their order to be certain. */
static double tolerance_of(const struct profile *profile)
{
    return (double)profile_run_number(profile, "trap_tolerance_ns", 0);
}

static bool judge_watch(const struct analysis *analysis, struct followed *followed)
{
    const struct analysed_sample *sample = &analysis->samples[followed->sample];
    const struct profile *profile = analysis->profiles[sample->profile];
    const struct record_line_end *end = profile_line_end(profile, sample->record->sample_id);

    followed->until = followed->loads_until = 0;
    if (end) {
        followed->until = (double)end->elapsed_ns;
        followed->loads_until = (double)end->loads_ns;
        followed->to_the_end = end->reason == LINE_END_STORE || end->reason == LINE_END_FREED ||
                               end->reason == LINE_END_PROCESS;
    }
    /* Without an end the file was cut short; events tell how long it ran at least. */
    return end || !profile->complete;
}

static void follow(const struct analysis *analysis, struct segments *segments)
{
    struct line_events events;

    line_events_create(analysis, &events);
    segments->arrivals = allocate(events.count + 1, sizeof *segments->arrivals);
    for (size_t i = 0; i < segments->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[segments->samples[i]];
        const struct profile *profile = analysis->profiles[sample->profile];
        struct followed followed = {
            .sample = segments->samples[i],
            .position = (uint32_t)i,
            .record = profile_line_watch(profile, sample->record->sample_id),
        };
        size_t n;
        const struct line_event_place *first;

        if (!followed.record || !judge_watch(analysis, &followed))
            continue;
        first = line_events_of(&events, sample->profile, sample->record->sample_id, &n);
        segments->watches[segments->watch_count] = followed;
        list_arrivals(analysis, segments, (uint32_t)segments->watch_count, first, n,
                      tolerance_of(profile));
        segments->watch_count++;
    }
    line_events_free(&events);
}

/* ---- strata ---- */

struct member {
    uint64_t key;
    uint32_t profile;
    uint32_t position; /* in samples */
    bool watched;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/*
 * Stores are alike by instruction, by the word of the line (what sweeps through lines leaves the
 * last one alone), by whether others were seen at the line, and by whether the thread stores to it
 * again at once. With too few watches the word, the instruction, the others do not count.
 */
static uint64_t key_of(const struct record_sample *sample, uint32_t line_size, unsigned level)
{
    uint64_t key = is_within(sample);

    if (level < 3)
        key |= sample->flags & SAMPLE_LINE_SHARED ? 2 : 0;
    if (level < 2)
        key |= sample->ip << 12;
    if (level < 1)
        key |= sample->address % line_size / WATCH_WORD << 2;
    return key;
}

static void stratify(const struct analysis *analysis, struct segments *segments)
{
    enum { LEVELS = 4 };
    size_t n = segments->count, left = n;
    struct member *members = allocate(n + 1, sizeof *members);
    bool *watched = allocate_zeroed(n + 1, sizeof *watched);

    segments->strata = allocate_zeroed(n + 1, sizeof *segments->strata);
    for (size_t i = 0; i < segments->watch_count; i++)
        watched[segments->watches[i].position] = true;
    for (size_t i = 0; i < n; i++)
        members[i].position = (uint32_t)i;
    for (unsigned level = 0; level < LEVELS; level++) {
        size_t kept = 0;

        for (size_t i = 0; i < left; i++) {
            const struct analysed_sample *sample =
                &analysis->samples[segments->samples[members[i].position]];

            members[i].key = key_of(sample->record, analysis->run_line_size, level);
            members[i].profile = sample->profile;
            members[i].watched = watched[members[i].position];
        }
        qsort(members, left, sizeof *members, compare_members);
        for (size_t i = 0, end; i < left; i = end) {
            size_t watches = 0;

            for (end = i; end < left && members[end].key == members[i].key &&
                          members[end].profile == members[i].profile;
                 end++)
                watches += members[end].watched;
            bool alone = watches >= STRATUM_WATCHES_MIN || level + 1 == LEVELS;
            for (size_t k = i; k < end; k++) {
                if (alone)
                    segments->stratum_of[members[k].position] = (uint32_t)segments->stratum_count;
                else
                    members[kept++] = members[k];
            }
            if (alone)
                segments->strata[segments->stratum_count++].within = members[end - 1].key & 1;
        }
        left = kept;
    }
    for (size_t i = 0; i < segments->watch_count; i++)
        segments->watches[i].stratum = segments->stratum_of[segments->watches[i].position];
    free(members);
    free(watched);
}

/* ---- order ---- */

static int compare_arrivals(const void *a, const void *b, void *context)
{
    const struct segments *segments = context;
    const struct arrival *x = &segments->arrivals[*(const uint32_t *)a];
    const struct arrival *y = &segments->arrivals[*(const uint32_t *)b];
    uint32_t p = segments->watches[x->watch].stratum, q = segments->watches[y->watch].stratum;

    if (p != q)
        return p < q ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int compare_ends(const void *a, const void *b, void *context)
{
    const struct segments *segments = context;
    const struct followed *x = &segments->watches[*(const uint32_t *)a];
    const struct followed *y = &segments->watches[*(const uint32_t *)b];

    if (x->stratum != y->stratum)
        return x->stratum < y->stratum ? -1 : 1;
    if (x->until != y->until)
        return x->until < y->until ? -1 : 1;
    return x < y ? -1 : x > y;
}

static int compare_loads(const void *a, const void *b, void *context)
{
    const struct segments *segments = context;
    const struct followed *x = &segments->watches[*(const uint32_t *)a];
    const struct followed *y = &segments->watches[*(const uint32_t *)b];

    if (x->stratum != y->stratum)
        return x->stratum < y->stratum ? -1 : 1;
    if (x->loads_until != y->loads_until)
        return x->loads_until < y->loads_until ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Sorts the arrivals in place, with `previous` following them. */
static void sort_arrivals(struct segments *segments)
{
    size_t n = segments->arrival_count;
    uint32_t *order = allocate(n + 1, sizeof *order), *place = allocate(n + 1, sizeof *place);
    struct arrival *sorted = allocate(n + 1, sizeof *sorted);

    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, n, sizeof *order, compare_arrivals, segments);
    for (size_t i = 0; i < n; i++)
        place[order[i]] = (uint32_t)i;
    for (size_t i = 0; i < n; i++) {
        sorted[i] = segments->arrivals[order[i]];
        if (sorted[i].previous)
            sorted[i].previous = place[sorted[i].previous - 1] + 1;
    }
    for (size_t i = 0; i < segments->watch_count; i++)
        if (segments->watches[i].last_read)
            segments->watches[i].last_read = place[segments->watches[i].last_read - 1] + 1;
    memcpy(segments->arrivals, sorted, n * sizeof *sorted);
    free(order);
    free(place);
    free(sorted);
}

static int compare_threads(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Numbers the threads that read in each stratum. */
static void number_readers(struct segments *segments)
{
    uint32_t *threads = allocate(segments->arrival_count + 1, sizeof *threads);

    for (size_t s = 0; s < segments->stratum_count; s++) {
        struct store_stratum *stratum = &segments->strata[s];
        struct arrival *arrivals = segments->arrivals + stratum->first_arrival;
        size_t n = 0, unique = 0;

        for (size_t i = 0; i < stratum->arrival_count; i++)
            if (arrivals[i].class == ARRIVAL_READ)
                threads[n++] = arrivals[i].event->thread_id;
        qsort(threads, n, sizeof *threads, compare_threads);
        for (size_t i = 0; i < n; i++)
            if (unique == 0 || threads[unique - 1] != threads[i])
                threads[unique++] = threads[i];
        for (size_t i = 0; i < stratum->arrival_count; i++) {
            const uint32_t *found = bsearch(&arrivals[i].event->thread_id, threads, unique,
                                            sizeof *threads, compare_threads);

            arrivals[i].reader = found ? (uint32_t)(found - threads) : 0;
        }
        stratum->first_reader = segments->reader_count;
        stratum->reader_count = (uint32_t)unique;
        segments->reader_count += (uint32_t)unique;
    }
    free(threads);
}

static void sort_all(struct segments *segments)
{
    sort_arrivals(segments);
    for (size_t i = 0; i < segments->watch_count; i++)
        segments->by_end[i] = segments->by_loads[i] = (uint32_t)i;
    qsort_r(segments->by_end, segments->watch_count, sizeof *segments->by_end, compare_ends,
            segments);
    qsort_r(segments->by_loads, segments->watch_count, sizeof *segments->by_loads, compare_loads,
            segments);
    for (size_t i = 0; i < segments->arrival_count; i++) {
        uint32_t watch = segments->arrivals[i].watch;
        struct store_stratum *stratum = &segments->strata[segments->watches[watch].stratum];

        if (stratum->arrival_count++ == 0)
            stratum->first_arrival = i;
    }
    for (size_t i = 0; i < segments->watch_count; i++) {
        struct store_stratum *stratum =
            &segments->strata[segments->watches[segments->by_end[i]].stratum];

        if (stratum->watch_count++ == 0)
            stratum->first_watch = i;
    }
    number_readers(segments);
}

double segments_weight(const struct analysis *analysis, const struct segments *segments,
                       uint32_t replicate, size_t position)
{
    uint32_t sample = segments->samples[position];

    if (segments->weights[position] > 0)
        return segments->weights[position] * replicate_times_drawn(analysis, replicate, sample);
    return replicate_weight(analysis, replicate, sample);
}

/* Stores of turns are told by turns alone, where their number is known. */
static void list_stores(const struct analysis *analysis, const struct turns *turns,
                        struct segments *segments)
{
    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];
        bool of_turn = sample->record->flags & SAMPLE_TURN;
        double weight = of_turn ? turns_weight(turns, sample) : 0;

        if (sample->record->kind != ACCESS_STORE ||
            !(sample->record->flags & SAMPLE_LINE_OFFERED) ||
            (of_turn ? weight <= 0 : turns_cover_sample(turns, sample)))
            continue;
        segments->weights[segments->count] = weight;
        segments->samples[segments->count++] = (uint32_t)i;
    }
}

void segments_create(const struct analysis *analysis, const struct turns *turns,
                     struct segments *segments)
{
    size_t room = analysis->count + 1;

    *segments = (struct segments){
        .samples = allocate(room, sizeof *segments->samples),
        .weights = allocate(room, sizeof *segments->weights),
        .stratum_of = allocate(room, sizeof *segments->stratum_of),
        .watches = allocate(room, sizeof *segments->watches),
        .by_end = allocate(room, sizeof *segments->by_end),
        .by_loads = allocate(room, sizeof *segments->by_loads),
        .touched = allocate_zeroed(room, sizeof *segments->touched),
        .written = allocate_zeroed(room, sizeof *segments->written),
    };
    list_stores(analysis, turns, segments);
    line_uses_create(analysis, &segments->uses);
    follow(analysis, segments);
    stratify(analysis, segments);
    sort_all(segments);
    segments_find_bytes(analysis, &segments->uses, segments);
}

void segments_free(struct segments *segments)
{
    free(segments->samples);
    free(segments->weights);
    free(segments->stratum_of);
    free(segments->watches);
    free(segments->by_end);
    free(segments->by_loads);
    free(segments->touched);
    free(segments->written);
    free(segments->arrivals);
    free(segments->strata);
    line_uses_free(&segments->uses);
    *segments = (struct segments){0};
}
