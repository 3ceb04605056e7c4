/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows of a sampled profile: what followed a sampled store, as competing risks, per stratum and
 * bootstrap replicate (docs/communication.md, "Communication").
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication/communication_internal.h"
#include "sampling/line_mask.h"
#include "support/memory.h"

/* Transfers per access of code that no sample met, at most: it stores words of 8 bytes through a
 * line of 64, another thread loads them, and loses them by the next store. */
static const double MOVES_MOST = 2.0 / 8;

/* One transfer that an arrival stands for. */
struct contribution {
    uint32_t arrival;
    uint32_t reader; /* whose copy an end takes, + 1: its number among all; 0: the writer's */
    double factor;   /* transfers per mass of the arrival */
};

struct estimation {
    struct communication *communication;
    const struct analysis *analysis;
    struct turns turns;
    struct segments segments;
    struct contribution *contributions; /* one per flow */
    size_t contribution_capacity;
    struct masses masses; /* in the replicate under way */
    struct polled polled;
};

/* ---- flows ---- */

struct flow_end communication_event_end(const struct record_line_event *event)
{
    bool known = event->flags & LINE_EVENT_KIND_KNOWN;

    return (struct flow_end){
        .thread_id = event->thread_id,
        .context_id = event->context_id,
        /* A byte of the instruction itself, not of the one after it. */
        .ip = known || !event->ip ? event->ip : event->ip - 1,
        .offset = event->offset,
        .width = event->width,
        .cpu_known = true,
        .cpu = event->cpu,
    };
}

struct flow_end communication_sample_end(const struct record_sample *sample, uint32_t line_size)
{
    return (struct flow_end){
        .thread_id = sample->thread_id,
        .context_id = sample->context_id,
        .ip = sample->ip,
        .offset = (uint16_t)(sample->address % line_size),
        .width = sample->width,
        .cpu_known = true,
        .cpu = sample->cpu,
    };
}

/*
 * Bytes that the writer touched since it got the line (or those that were stored to since its
 * reader lost it): of its visit, where that was looked at; else as samples of that time tell.
 */
static uint64_t writer_bytes(const struct estimation *estimation, const struct followed *watch,
                             bool written)
{
    const struct segments *segments = &estimation->segments;
    const struct record_sample *sample = estimation->analysis->samples[watch->sample].record;

    if (sample->flags & SAMPLE_LINE_VISIT)
        return written ? sample->visit_written : sample->visit_accessed;
    return (written ? segments->written : segments->touched)[watch->position];
}

static uint64_t bytes_touched(const struct arrival *arrival)
{
    return arrival->bytes | arrival->event->visit_read | arrival->event->visit_written;
}

void communication_describe_flow(const struct analysis *analysis, uint32_t sample,
                                 struct flow *flow)
{
    const struct record_sample *record = analysis->samples[sample].record;

    flow->sample = sample;
    flow->profile_index = analysis->samples[sample].profile;
    flow->object_kind = record->object_kind;
    flow->object_reference = record->object_reference;
    flow->object_base = record->object_base;
    flow->object_size = record->object_size;
    flow->line_address = line_start(record->address, analysis->run_line_size);
}

static void add_flow(struct estimation *estimation, uint32_t arrival, uint32_t reader,
                     double factor, enum transfer_kind kind, const struct flow_end *source,
                     bool true_sharing)
{
    const struct analysis *analysis = estimation->analysis;
    const struct arrival *seen = &estimation->segments.arrivals[arrival];
    size_t index = estimation->communication->count;
    struct flow *flow;

    if (index == estimation->contribution_capacity) {
        estimation->contribution_capacity = index ? 2 * index : 256;
        estimation->contributions =
            reallocate(estimation->contributions, estimation->contribution_capacity,
                       sizeof *estimation->contributions);
    }
    flow = communication_add(estimation->communication);
    communication_describe_flow(analysis, estimation->segments.watches[seen->watch].sample, flow);
    flow->kind = (uint8_t)kind;
    flow->true_sharing = true_sharing;
    flow->source = *source;
    flow->destination = communication_event_end(seen->event);
    estimation->contributions[index] = (struct contribution){arrival, reader, factor};
}

/*
 * The end of a segment takes the line from its writer and from each thread that has read it. A
 * reader that was seen in the second word beside an end in the first is one of several that the
 * watch might have shown; one seen beside an end in its own word comes with that.
 */
static void add_end(struct estimation *estimation, uint32_t arrival)
{
    const struct segments *segments = &estimation->segments;
    const struct arrival *end = &segments->arrivals[arrival];
    const struct followed *watch = &segments->watches[end->watch];
    const struct record_sample *record = estimation->analysis->samples[watch->sample].record;
    uint32_t stratum = watch->stratum;
    struct flow_end writer = communication_sample_end(record, estimation->analysis->run_line_size);

    if (!end->own)
        add_flow(estimation, arrival, 0, 1, TRANSFER_WAW, &writer,
                 end->bytes & writer_bytes(estimation, watch, false));
    for (uint32_t read = end->previous; read; read = segments->arrivals[read - 1].previous) {
        const struct arrival *holder = &segments->arrivals[read - 1];
        struct flow_end source = communication_event_end(holder->event);
        double factor = copies_taken(end, holder);
        uint32_t reader = segments->strata[stratum].first_reader + holder->reader + 1;

        if (factor > 0)
            add_flow(estimation, arrival, reader, factor, TRANSFER_WAR, &source,
                     end->bytes & bytes_touched(holder));
    }
}

/* What a polling thread waits for is counted from there. */
static bool is_polled(const struct estimation *estimation, const struct followed *watch)
{
    const struct analysed_sample *sample = &estimation->analysis->samples[watch->sample];

    return watch->record->flags & LINE_WATCH_POLLED ||
           polled_has_line(
               &estimation->polled, sample->profile,
               line_start(sample->record->address, estimation->analysis->run_line_size));
}

static void add_flows(struct estimation *estimation)
{
    const struct segments *segments = &estimation->segments;

    for (uint32_t i = 0; i < segments->arrival_count; i++) {
        const struct arrival *arrival = &segments->arrivals[i];
        const struct followed *watch = &segments->watches[arrival->watch];
        const struct record_sample *record = estimation->analysis->samples[watch->sample].record;
        struct flow_end writer =
            communication_sample_end(record, estimation->analysis->run_line_size);

        /* Within nanoseconds: see communication_contended.c. */
        if (arrival->multiplicity == 0 || segments->strata[watch->stratum].within ||
            (!(record->flags & SAMPLE_TURN) && is_polled(estimation, watch)))
            continue;
        if (arrival->class == ARRIVAL_READ)
            add_flow(estimation, i, 0, 1, TRANSFER_RAW, &writer,
                     arrival->bytes & writer_bytes(estimation, watch, true));
        else
            add_end(estimation, i);
    }
}

static void add_polled_flows(struct estimation *estimation)
{
    const struct analysis *analysis = estimation->analysis;

    estimation->communication->watched_flows = estimation->communication->count;
    for (size_t i = 0; i < estimation->polled.flow_count; i++) {
        const struct polled_flow *polled = &estimation->polled.flows[i];
        struct flow *flow = communication_add(estimation->communication);

        communication_describe_flow(analysis, polled->sample, flow);
        flow->kind = (uint8_t)polled->kind;
        flow->true_sharing = polled->true_sharing;
        flow->source = polled->source;
        flow->destination = polled->destination;
    }
}

/* ---- replicates ---- */

static void set_value(struct communication *communication, size_t flow, uint32_t replicate,
                      double value)
{
    if (replicate == 0)
        communication->flows[flow].transfers = value;
    else
        communication->values[flow * communication->replicates + replicate - 1] = (float)value;
}

static void estimate_replicate(struct estimation *estimation, uint32_t replicate)
{
    const struct segments *segments = &estimation->segments;
    const struct analysis *analysis = estimation->analysis;
    struct communication *communication = estimation->communication;
    double *totals = allocate_zeroed(segments->stratum_count + 1, sizeof *totals);

    for (size_t i = 0; i < segments->count; i++)
        totals[segments->stratum_of[i]] += segments_weight(analysis, segments, replicate, i);
    for (size_t s = 0; s < segments->stratum_count; s++)
        if (!segments->strata[s].within)
            masses_of_stratum(analysis, segments, &segments->strata[s], replicate,
                              &estimation->masses);
    polled_estimate(analysis, &estimation->polled, replicate);
    for (size_t i = 0; i < communication->count; i++) {
        if (i >= communication->watched_flows) {
            const struct polled_flow *flow =
                &estimation->polled.flows[i - communication->watched_flows];

            set_value(communication, i, replicate,
                      estimation->polled.strata[flow->stratum].segments * flow->factor);
            continue;
        }
        const struct contribution *one = &estimation->contributions[i];
        uint32_t watch = segments->arrivals[one->arrival].watch;
        double value = totals[segments->watches[watch].stratum] *
                       estimation->masses.arrival[one->arrival] * one->factor;

        if (one->reader)
            value *= estimation->masses.scale[one->reader - 1];
        set_value(communication, i, replicate, value);
    }
    free(totals);
}

/*
 * Transfers that one watch more would have added, if it had seen one. Those that gave way early
 * have not seen that none comes late; those that saw their segment end, or the process, have.
 * Segments that the thread itself is known to end at once are not in doubt: others are seen in
 * samples of theirs, or not there. But code that was not met may store what others use.
 */
static double least_of(const struct estimation *estimation)
{
    const struct segments *segments = &estimation->segments;
    const struct analysis *analysis = estimation->analysis;
    double stores = 0, accesses = 0, unmet, least;
    size_t seen = 0;

    for (size_t i = 0; i < segments->count; i++)
        if (!segments->strata[segments->stratum_of[i]].within)
            stores += segments_weight(analysis, segments, 0, i);
    for (size_t i = 0; i < segments->watch_count; i++)
        seen += segments->watches[i].to_the_end &&
                !segments->strata[segments->watches[i].stratum].within;
    for (size_t i = 0; i < analysis->count; i++)
        accesses += analysis->samples[i].weight;
    unmet = analysis->count > 0 ? accesses / (double)analysis->count : 0;
    least = stores > 0 ? stores / fmax((double)seen, RULE_OF_THREE) : unmet;
    return fmax(least, unmet * MOVES_MOST);
}

static void estimate(struct estimation *estimation)
{
    struct communication *communication = estimation->communication;
    struct segments *segments = &estimation->segments;

    communication->replicates = estimation->analysis->options.bootstrap;
    communication->values =
        allocate(communication->count * communication->replicates, sizeof *communication->values);
    communication->value_capacity = communication->count;
    masses_create(segments, &estimation->masses);
    for (uint32_t r = 0; r <= communication->replicates; r++)
        estimate_replicate(estimation, r);
    communication->least = least_of(estimation);
    communication_add_contended(communication, segments, &estimation->polled);
}

/* Why no store was offered to the registers: what would change that. */
static const char *silence_of(const struct analysis *analysis)
{
    const uint64_t most = UINT64_MAX;
    bool watched = false, late = false, register_less = false;

    for (size_t p = 0; p < analysis->profile_count; p++) {
        watched |= profile_run_number(analysis->profiles[p], "sharing", 1) != 0;
        late |= profile_run_number(analysis->profiles[p], "simulate_skid", 0) != 0;
        register_less |= profile_run_number(analysis->profiles[p], "registers", most) <=
                         profile_run_number(analysis->profiles[p], "slots", 0);
    }
    if (late)
        return "its records come too late for their stores to be watched; record it with "
               "--simulate-skid 0";
    if (watched && register_less)
        return "no debug register was there to watch stores of other threads; count them with "
               "reuse-run -e exact, or record where reuse-doctor says that watchpoints trap";
    if (watched)
        return "no store was sampled while several threads ran; record for longer";
    return "its threads were not watched; record it without --no-sharing";
}

static bool runs_threads(const struct analysis *analysis)
{
    for (size_t p = 0; p < analysis->profile_count; p++)
        if (profile_runs_threads(analysis->profiles[p]))
            return true;
    return false;
}

/* Whether registers were offered stores. */
static bool is_watched(const struct analysis *analysis)
{
    for (size_t i = 0; i < analysis->count; i++)
        if (analysis->samples[i].record->flags & SAMPLE_LINE_OFFERED)
            return true;
    return false;
}

/* Whether bursts told at which lines they met. */
static bool is_compared(const struct analysis *analysis)
{
    for (size_t p = 0; p < analysis->profile_count; p++)
        if (profile_run_number(analysis->profiles[p], "meetings", 0) != 0)
            return true;
    return false;
}

/* Also finds what the flows will rest on. */
static bool may_speak(struct communication *communication, char *message, size_t size)
{
    const struct analysis *analysis = communication->analysis;
    bool unwatched = runs_threads(analysis) && !is_watched(analysis);

    communication->modelled = unwatched && is_compared(analysis);
    if (unwatched && !communication->modelled) {
        snprintf(message, size, "%s tells nothing of communication: %s",
                 analysis->profiles[0]->path, silence_of(analysis));
        return false;
    }
    if (analysis->options.thread_id) {
        snprintf(message, size,
                 "communication needs the samples of all threads: do not ask for one alone");
        return false;
    }
    return true;
}

bool communication_from_watches(struct communication *communication, char *message,
                                size_t message_size)
{
    struct estimation estimation = {.communication = communication,
                                    .analysis = communication->analysis};

    if (!may_speak(communication, message, message_size))
        return false;
    turns_create(estimation.analysis, &estimation.turns);
    segments_create(estimation.analysis, &estimation.turns, &estimation.segments);
    polled_create(estimation.analysis, &estimation.turns, &estimation.polled);
    add_flows(&estimation);
    add_polled_flows(&estimation);
    estimate(&estimation);
    if (communication->line_size != estimation.analysis->run_line_size)
        communication_widen(communication);
    communication_add_meetings(communication);
    communication_add_processes(communication);
    turns_free(&estimation.turns);
    segments_free(&estimation.segments);
    polled_free(&estimation.polled);
    free(estimation.contributions);
    masses_free(&estimation.masses);
    return true;
}
