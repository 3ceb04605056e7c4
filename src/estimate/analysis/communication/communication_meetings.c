/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows between threads of a process in which no register watched what they store: from the lines
 * at which their bursts met (meeting_lines.h).
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/communication/communication_internal.h"
#include "analysis/communication/meeting_lines.h"
#include "support/memory.h"

/* Of a flow that stands for more lines than that, the line is any of the object's. */
static const double one_line = 1.5;

/* Of the probes of a burst, the calling context of the instruction; 0: none is its. */
static uint32_t context_of(const struct analysis *analysis, uint32_t burst, uint64_t ip)
{
    const struct analysed_burst *record = &analysis->bursts[burst];

    for (uint32_t i = 0; i < record->probe_count; i++)
        if (analysis->probes[record->first_probe + i].ip == ip)
            return analysis->probes[record->first_probe + i].context_id;
    return 0;
}

/*
 * How much more a replicate has of a flow. Where a thread met another by chance, in a few bursts,
 * it is with one of these that the flow is drawn or not; what chance leaves open of a line at which
 * many bursts are is in its model (burst_contention.c).
 */
static double replicate_factor(const struct analysis *analysis, uint32_t replicate, uint32_t burst,
                               bool by_chance)
{
    double factor = by_chance
                        ? replicate_burst_factor(analysis, replicate, burst)
                        : replicate_rate_factor(analysis, replicate, analysis->bursts[burst].loop);

    return factor * replicate_time_factor(analysis, replicate);
}

static struct flow_end end_of(const struct analysis *analysis,
                              const struct burst_contention *contention,
                              const struct burst_act *act)
{
    struct flow_end end = burst_contention_end(analysis, contention, act);

    end.context_id = context_of(analysis, act->burst, act->ip);
    return end;
}

/* What one flow was seen and modelled to be, times how many such flows there are. certain: the part
 * of the usual transfers that were there at least. */
static struct scenarios expand(const struct scenarios *seen, const struct scenarios *stand_for,
                               double certain)
{
    struct scenarios all;

    for (unsigned s = 0; s < SCENARIOS; s++)
        all.of[s] = seen->of[s] * stand_for->of[s];
    all.of[LEAST] = fmax(seen->of[LEAST], seen->of[USUAL] * certain) * stand_for->of[LEAST];
    all.of[LEAST] = fmin(all.of[LEAST], all.of[USUAL]);
    all.of[MOST] = fmax(all.of[MOST], all.of[USUAL]);
    return all;
}

/* The object, and the line if the flow does not stand for others. */
static void place_flow(const struct burst_use *use, bool this_line, struct flow *flow)
{
    const struct record_shared_use *record = use->record;

    flow->object_kind = record->object_kind;
    flow->object_reference = record->object_reference;
    flow->object_base = record->object_base;
    flow->object_size = record->object_size;
    if (this_line)
        flow->line_address = use->line;
    else if (record->object_kind == OBJECT_GLOBAL)
        flow->object_base = use->line + record->load_offset;
}

static void add_flow(struct communication *communication, const struct meeting_lines *lines,
                     const struct meeting_line *line, const struct burst_contention *contention,
                     size_t source, size_t destination, unsigned kind, double certain)
{
    const struct scenarios *seen = burst_contention_of(contention, source, destination, kind);
    const struct analysis *analysis = communication->analysis;
    const struct burst_use *use = &lines->uses[line->first];
    struct flow_end from, to;
    struct scenarios stand_for, transfers;
    bool seldom_from, seldom_to;
    uint32_t burst;
    struct flow *flow;
    float *values;

    if (!(seen->of[MOST] > 0))
        return;
    from = end_of(analysis, contention, &contention->acts[source]);
    to = end_of(analysis, contention, &contention->acts[destination]);
    stand_for = meeting_lines_stand_for(lines, line, from.thread_id, to.thread_id);
    transfers = expand(seen, &stand_for, certain);
    flow = communication_add(communication);
    values = communication_more_values(communication);
    *flow = (struct flow){
        .profile_index = use->profile,
        .kind = (uint8_t)kind,
        .true_sharing = burst_contention_is_true(contention, source, destination, kind),
        .modelled = true,
        .source = from,
        .destination = to,
        .transfers = transfers.of[USUAL],
    };
    place_flow(use, stand_for.of[USUAL] < one_line, flow);
    /* Of the two it is the one with fewer bursts that says how well the flow is known. */
    seldom_from = meeting_lines_seldom(lines, line, from.thread_id);
    seldom_to = meeting_lines_seldom(lines, line, to.thread_id);
    burst = contention->acts[seldom_from ? source : destination].burst;
    for (uint32_t r = 1; r <= communication->replicates; r++)
        values[r - 1] = (float)(scenarios_between(&transfers, communication_doubt(r)) *
                                replicate_factor(analysis, r, burst, seldom_from || seldom_to));
}

static bool loads_and_stores(const struct burst_contention *contention, size_t actor)
{
    bool loads = false, stores = false;

    for (size_t i = 0; i < contention->act_count; i++)
        if (contention->acts[i].actor == actor) {
            loads |= !contention->acts[i].store;
            stores |= contention->acts[i].store;
        }
    return loads && stores;
}

/* Who loads and stores is taken to load first, and so to cause two transfers when it comes: the
 * store may come first, and be the only one. */
static double least_per_turn(const struct burst_contention *contention, size_t x, size_t y)
{
    return loads_and_stores(contention, x) || loads_and_stores(contention, y) ? 0.5 : 1;
}

/*
 * By pair of actors: the part of the usual transfers between the two that were there even if they
 * used the line in turns as long as those that bursts saw: one for each, if it was used so often.
 */
static double *certain_parts(const struct meeting_lines *lines, const struct meeting_line *line,
                             const struct burst_contention *contention)
{
    size_t n = contention->actor_count;
    double *parts = allocate_zeroed(n * n, sizeof *parts);

    for (size_t a = 0; a < contention->act_count; a++)
        for (size_t b = 0; b < contention->act_count; b++)
            for (unsigned kind = TRANSFER_RAW; kind < TRANSFER_RAW + BURST_KINDS; kind++) {
                uint32_t x = contention->acts[a].actor, y = contention->acts[b].actor;
                double usual = burst_contention_of(contention, a, b, kind)->of[USUAL];

                parts[x * n + y] += usual;
                parts[y * n + x] += x != y ? usual : 0;
            }
    for (size_t i = 0; i < n * n; i++) {
        const struct burst_actor *x = &contention->actors[i / n], *y = &contention->actors[i % n];
        double turns = meeting_lines_turns(lines, line, x->thread_id, y->thread_id);

        if (parts[i] > 0)
            parts[i] = fmin(least_per_turn(contention, i / n, i % n), turns / parts[i]);
    }
    return parts;
}

static void add_line(struct communication *communication, const struct meeting_lines *lines,
                     const struct meeting_line *line)
{
    struct burst_contention contention;
    double *certain;

    burst_contention_find(communication->analysis, BETWEEN_THREADS, &lines->uses[line->first],
                          line->count, &contention);
    certain = certain_parts(lines, line, &contention);
    for (size_t a = 0; a < contention.act_count; a++)
        for (size_t b = 0; b < contention.act_count; b++)
            for (unsigned kind = TRANSFER_RAW; kind < TRANSFER_RAW + BURST_KINDS; kind++)
                add_flow(communication, lines, line, &contention, a, b, kind,
                         certain[contention.acts[a].actor * contention.actor_count +
                                 contention.acts[b].actor]);
    free(certain);
    burst_contention_free(&contention);
}

/* Transfers that would have been added by one burst more that met another thread's at a line. */
static double least_of(const struct analysis *analysis)
{
    double sum = 0;

    for (size_t i = 0; i < analysis->burst_count; i++)
        if (analysis->bursts[i].record->accesses > 0)
            sum += analysis->bursts[i].accesses / analysis->bursts[i].record->accesses;
    return analysis->burst_count > 0 ? sum / (double)analysis->burst_count : 0;
}

void communication_add_meetings(struct communication *communication)
{
    size_t first = communication->count;
    struct meeting_lines lines;

    if (!communication->modelled)
        return;
    communication->least = least_of(communication->analysis);

    meeting_lines_create(communication->analysis, communication->line_size, &lines);
    for (size_t i = 0; i < lines.line_count; i++)
        if (lines.lines[i].party_count > 1)
            add_line(communication, &lines, &lines.lines[i]);
    meeting_lines_free(&lines);
    communication_limit_to_time(communication, first);
}
