/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers to threads that poll: read one place again and again until another thread stores there
 * (docs/communication.md, "Communication"). Their stores are too few among their accesses to be
 * sampled; how often what they wait for comes is measured in time instead.
 */
#define _GNU_SOURCE /* qsort_r */
#include <math.h>
#include <stdlib.h>

#include "analysis/communication/communication_internal.h"
#include "analysis/communication/line_events.h"
#include "sampling/line_mask.h"
#include "sampling/watch_design.h"
#include "support/memory.h"

enum {
    /* Waits that a rate needs: the shortest so many decide. */
    WAITS_MIN = 5,
};

/* What comes within the time that traps can tell apart is taken to come at its end; it may come
 * sooner, down to the time that a line takes from cache to cache, a tenth of that. In the
 * logarithm. */
static const double FAST_SPREAD = 2.3;

struct wait {
    uint32_t sample; /* index into analysis.samples */
    const struct record_line_watch *watch;
    const struct line_event_place *events;
    size_t count;  /* of them */
    double waited; /* ns; until the store, or as long as it was watched for */
    bool came;
    bool opened; /* the store was seen */
};

static int compare_waits(const void *a, const void *b, void *context)
{
    const struct analysis *analysis = context;
    const struct wait *x = a, *y = b;
    const struct analysed_sample *p = &analysis->samples[x->sample];
    const struct analysed_sample *q = &analysis->samples[y->sample];

    if (p->profile != q->profile)
        return p->profile < q->profile ? -1 : 1;
    if (p->record->thread_id != q->record->thread_id)
        return p->record->thread_id < q->record->thread_id ? -1 : 1;
    if (p->record->ip != q->record->ip)
        return p->record->ip < q->record->ip ? -1 : 1;
    return x->waited < y->waited ? -1 : x->waited > y->waited;
}

static bool same_stratum(const struct analysis *analysis, const struct wait *a,
                         const struct wait *b)
{
    const struct analysed_sample *p = &analysis->samples[a->sample];
    const struct analysed_sample *q = &analysis->samples[b->sample];

    return p->profile == q->profile && p->record->thread_id == q->record->thread_id &&
           p->record->ip == q->record->ip;
}

/* How the wait went. A thread that goes on to store itself had what it waited for while our handler
 * held it up. */
static void judge(const struct analysis *analysis, struct wait *wait)
{
    const struct analysed_sample *sample = &analysis->samples[wait->sample];
    const struct profile *profile = analysis->profiles[sample->profile];
    const struct record_line_end *end = profile_line_end(profile, sample->record->sample_id);

    if (wait->count && wait->events[0].event->flags & LINE_EVENT_OPENS) {
        wait->came = wait->opened = true;
        wait->waited = (double)wait->events[0].event->elapsed_ns;
    } else if (end) {
        wait->came = end->reason == LINE_END_STORE;
        wait->waited = wait->came && end->elapsed_ns < HANDLER_NS ? 0 : (double)end->elapsed_ns;
    }
}

/*
 * Stores per ns of polling: the density of waiting times at zero, which is the rate for any
 * distribution of the intervals, because polling is sampled at random times of them. The density of
 * such residual times only falls, so the steepest stretch from zero tells it.
 */
static double rate_of(const struct wait *waits, size_t n, double tolerance, bool *fast)
{
    size_t least = n / 10 > WAITS_MIN ? n / 10 : WAITS_MIN, came = 0;
    double rate = 0;

    *fast = false;
    for (size_t i = 0; i < n; i++) {
        double within = fmax(tolerance, waits[i].waited);

        came += waits[i].came;
        if (!waits[i].came || (came < least && i + 1 < n) || came == 0)
            continue;
        if ((double)came / (double)n / within > rate) {
            rate = (double)came / (double)n / within;
            *fast = within <= tolerance;
        }
    }
    return rate;
}

static void add(struct polled *polled, const struct polled_flow *flow)
{
    if (polled->flow_count == polled->flow_capacity) {
        polled->flow_capacity = polled->flow_capacity ? 2 * polled->flow_capacity : 64;
        polled->flows = reallocate(polled->flows, polled->flow_capacity, sizeof *polled->flows);
    }
    polled->flows[polled->flow_count++] = *flow;
}

static uint64_t event_bytes(const struct record_line_event *event, uint32_t line_size)
{
    bool known = event->flags & LINE_EVENT_KIND_KNOWN && event->width;

    return line_mask(0, line_size, event->offset, known ? event->width : WATCH_WORD);
}

static const struct record_line_event *end_of(const struct wait *wait)
{
    for (size_t i = 1; wait->opened && i < wait->count; i++)
        if (wait->events[i].event->kind & ACCESS_STORE)
            return wait->events[i].event;
    return NULL;
}

/*
 * The flows of one segment that was seen to be opened: read by the polling thread, who need not
 * trap for it, and by others; ended by somebody.
 */
static void add_segment(const struct analysis *analysis, struct polled *polled, uint32_t stratum,
                        const struct wait *wait, double factor, double end_factor)
{
    const struct record_sample *sample = analysis->samples[wait->sample].record;
    uint32_t line_size = analysis->run_line_size;
    const struct record_line_event *opening = wait->events[0].event;
    struct polled_flow flow = {
        .sample = wait->sample, .stratum = stratum, .factor = factor, .kind = TRANSFER_RAW};
    struct flow_end writer = communication_event_end(opening);
    struct flow_end poller = communication_sample_end(sample, line_size);
    uint64_t written = event_bytes(opening, line_size);
    uint64_t polled_bytes = line_mask(0, line_size, sample->address % line_size, sample->width);
    const struct record_line_event *end = end_of(wait);

    flow.source = writer;
    flow.destination = poller;
    flow.true_sharing = polled_bytes & written;
    add(polled, &flow);
    for (size_t i = 1; i < wait->count; i++) {
        const struct record_line_event *event = wait->events[i].event;

        if (event == end)
            break;
        if (event->thread_id == sample->thread_id || event->thread_id == opening->thread_id)
            continue;
        flow.destination = communication_event_end(event);
        flow.true_sharing = event_bytes(event, line_size) & written;
        add(polled, &flow);
    }
    if (!end)
        return;
    uint64_t ending = event_bytes(end, line_size);
    flow.factor = end_factor;
    flow.destination = communication_event_end(end);
    if (end->thread_id != opening->thread_id) {
        flow.kind = TRANSFER_WAW;
        flow.true_sharing = ending & written;
        add(polled, &flow);
    }
    flow.kind = TRANSFER_WAR;
    flow.source = poller;
    flow.true_sharing = ending & polled_bytes;
    if (end->thread_id != sample->thread_id)
        add(polled, &flow);
}

static int compare_lines(const void *a, const void *b)
{
    const struct polled_line *x = a, *y = b;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

bool polled_has_line(const struct polled *polled, uint32_t profile, uint64_t line)
{
    struct polled_line key = {.profile = profile, .line = line};

    return bsearch(&key, polled->lines, polled->line_count, sizeof key, compare_lines) != NULL;
}

bool polled_is_awaited(const struct polled *polled, uint32_t profile, uint64_t line)
{
    struct polled_line key = {.profile = profile, .line = line};
    const struct polled_line *found =
        bsearch(&key, polled->lines, polled->line_count, sizeof key, compare_lines);

    return found && found->awaited;
}

/* Each line once. */
static void unite_lines(struct polled *polled)
{
    size_t count = 0;

    qsort(polled->lines, polled->line_count, sizeof *polled->lines, compare_lines);
    for (size_t i = 0; i < polled->line_count; i++) {
        if (count && compare_lines(&polled->lines[count - 1], &polled->lines[i]) == 0)
            polled->lines[count - 1].awaited |= polled->lines[i].awaited;
        else
            polled->lines[count++] = polled->lines[i];
    }
    polled->line_count = count;
}

static struct polled_line line_of(const struct analysis *analysis, const struct wait *wait)
{
    const struct analysed_sample *sample = &analysis->samples[wait->sample];
    uint32_t size = analysis->run_line_size;
    uint64_t line = line_start(sample->record->address, size);

    return (struct polled_line){
        sample->profile, line,
        event_bytes(wait->events[0].event, size) &
            line_mask(line, size, sample->record->address, sample->record->width)};
}

static void add_stratum(const struct analysis *analysis, const struct turns *turns,
                        struct polled *polled, const struct wait *waits, size_t n)
{
    const struct analysed_sample *sample = &analysis->samples[waits[0].sample];
    double tolerance =
        (double)profile_run_number(analysis->profiles[sample->profile], "trap_tolerance_ns", 0);
    uint32_t index = (uint32_t)polled->count++;
    struct polled_stratum *stratum = &polled->strata[index];
    size_t opened = 0, ended = 0;

    *stratum = (struct polled_stratum){.profile = sample->profile,
                                       .thread_id = sample->record->thread_id,
                                       .ip = sample->record->ip};
    stratum->rate = rate_of(waits, n, fmax(tolerance, 1), &stratum->fast);
    for (size_t i = 0; i < n; i++) {
        opened += waits[i].opened;
        ended += end_of(&waits[i]) != NULL;
    }
    for (size_t i = 0; i < n && stratum->rate > 0; i++)
        if (waits[i].opened &&
            !turns_cover(turns, sample->profile, waits[i].events[0].event->thread_id))
            add_segment(analysis, polled, index, &waits[i], 1. / (double)opened,
                        ended ? 1. / (double)ended : 0);
}

void polled_create(const struct analysis *analysis, const struct turns *turns,
                   struct polled *polled)
{
    size_t n = 0;
    struct line_events events;
    struct wait *waits = allocate(analysis->count + 1, sizeof *waits);

    *polled = (struct polled){
        .strata = allocate(analysis->count + 1, sizeof *polled->strata),
        .lines = allocate(analysis->count + 1, sizeof *polled->lines),
    };
    line_events_create(analysis, &events);
    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];
        struct wait wait = {
            .sample = (uint32_t)i,
            .watch =
                profile_line_watch(analysis->profiles[sample->profile], sample->record->sample_id),
        };

        if (!wait.watch || !(wait.watch->flags & LINE_WATCH_WAITS))
            continue;
        wait.events =
            line_events_of(&events, sample->profile, sample->record->sample_id, &wait.count);
        judge(analysis, &wait);
        if (wait.opened)
            polled->lines[polled->line_count++] = line_of(analysis, &wait);
        waits[n++] = wait;
    }
    unite_lines(polled);
    qsort_r(waits, n, sizeof *waits, compare_waits, (void *)(uintptr_t)analysis);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && same_stratum(analysis, &waits[i], &waits[end]); end++)
            ;
        add_stratum(analysis, turns, polled, waits + i, end - i);
    }
    line_events_free(&events);
    free(waits);
}

void polled_free(struct polled *polled)
{
    free(polled->strata);
    free(polled->flows);
    free(polled->lines);
    *polled = (struct polled){0};
}

void polled_estimate(const struct analysis *analysis, struct polled *polled, uint32_t replicate)
{
    double at =
        analysis->options.bootstrap ? 2. * replicate / (analysis->options.bootstrap + 1.) - 1 : 0;

    for (size_t s = 0; s < polled->count; s++)
        polled->strata[s].segments = 0;
    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];
        double per_ns = analysis->rates.loops[sample->loop].per_ns.value *
                        replicate_rate_factor(analysis, replicate, sample->loop);

        if (sample->record->kind == ACCESS_STORE || !(sample->record->flags & SAMPLE_LINE_OFFERED))
            continue;
        for (size_t s = 0; s < polled->count; s++) {
            struct polled_stratum *stratum = &polled->strata[s];

            if (stratum->profile != sample->profile ||
                stratum->thread_id != sample->record->thread_id ||
                stratum->ip != sample->record->ip)
                continue;
            double time =
                per_ns > 0 ? replicate_weight(analysis, replicate, (uint32_t)i) / per_ns : 0;
            double spread = stratum->fast ? exp(FAST_SPREAD * at) : 1;
            stratum->segments += time * stratum->rate * spread;
            break;
        }
    }
}
