/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines that threads fight over: one stores to a line again within nanoseconds, and others use it
 * at the same time, in no order. No trap is quick enough to see who comes in between; the model
 * takes their uses to come at random, at the rates that samples show, in the part of the time in
 * which watches find them there together, and no more often than a line can move
 * (docs/communication.md, "Lines that threads fight over").
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication/contended_flows.h"
#include "analysis/communication/overlap.h"
#include "support/memory.h"

/* Hundreds of threads at one line: of the pairs of acts only so many per act are told. */
enum { PARTNERS_MAX = 128 };

struct contended {
    struct contended_flows flows;
    const struct analysis *analysis;
    const struct segments *segments;
    const struct line_uses *uses;
    const struct polled *polled;
    struct overlaps overlaps;
    struct contended_line line;
    struct line_user *others; /* of one store: threads of the line, without the owner */
    /* By thread: what follows the stores of one act. */
    struct scenarios *reads, *taken, *taken_by_others;
};

/* ---- one storing act ---- */

/* Sums over the sampled stores of one act in one bin. */
struct store_sums {
    struct scenarios ends;   /* that other threads make */
    struct scenarios moves;  /* segments in which the line moves */
    struct scenarios limits; /* and how many it has time for */
};

static void add_scaled(struct scenarios *sum, double value, const struct scenarios *factors)
{
    for (unsigned s = 0; s < SCENARIOS; s++)
        sum->of[s] += value * factors->of[s];
}

/* Threads that can be at it at the same time. */
static double at_once(const struct contended *contended)
{
    const struct profile *profile = contended->analysis->profiles[contended->line.uses[0].profile];
    double cpus = (double)profile_run_number(profile, "cpus", 0);

    return cpus >= 2 ? fmin(cpus, (double)contended->line.thread_count)
                     : (double)contended->line.thread_count;
}

/* ns are those of the machine, where lines take time to move. */
static bool has_real_time(const struct analysis *analysis, uint32_t profile)
{
    return profile_run_number(analysis->profiles[profile], "trap_tolerance_ns", 0) > 0;
}

static void add_store(struct contended *contended, size_t owner, uint32_t sample, double weight,
                      struct store_sums *sums)
{
    const struct analysis *analysis = contended->analysis;
    const struct contended_line *line = &contended->line;
    const struct analysed_sample *store = &analysis->samples[sample];
    double gap = contended_gap_ns(analysis, contended->uses, store, store->record->next_store);
    struct estimate overlap = overlaps_of(&contended->overlaps, store->profile, store->record->ip);
    struct estimate pace = line_transfer_ns;
    struct gap_outcome average, active;
    struct scenarios factors;
    size_t n = line->thread_count - 1;
    double most;

    memcpy(contended->others, line->active, owner * sizeof *line->active);
    memcpy(contended->others + owner, line->active + owner + 1, (n - owner) * sizeof *line->active);
    active = contention_gap(contended->others, n, gap);
    most = contention_most(contended->others, n, gap);
    memcpy(contended->others, line->average, owner * sizeof *line->average);
    memcpy(contended->others + owner, line->average + owner + 1,
           (n - owner) * sizeof *line->average);
    average = contention_gap(contended->others, n, gap);
    if (!(average.transfers > 0))
        return;
    factors = (struct scenarios){
        .of = {[USUAL] = fmin(1, overlap.value * active.transfers / average.transfers),
               [LEAST] = fmin(1, overlap.lo * active.transfers / average.transfers),
               [MOST] = fmax(1, overlap.hi * most / average.transfers)}};
    for (size_t t = 0, i = 0; t < line->thread_count; t++) {
        if (t == owner)
            continue;
        add_scaled(&contended->reads[t], weight * contention_reads(contended->others, n, i, gap),
                   &factors);
        add_scaled(&contended->taken[t], weight * contention_taken(contended->others, n, i, gap),
                   &factors);
        for (size_t x = 0; x < n; x++)
            add_scaled(&contended->taken_by_others[t],
                       weight * contention_taken_by(contended->others, n, i, x, gap), &factors);
        i++;
    }
    add_scaled(&sums->ends, weight * average.ends, &factors);
    add_scaled(&sums->moves, weight * average.transfers, &factors);
    gap *= weight / at_once(contended);
    sums->limits.of[USUAL] += gap * overlap.value / pace.value;
    sums->limits.of[LEAST] += gap * overlap.lo / pace.hi;
    sums->limits.of[MOST] += gap * overlap.hi / pace.lo;
}

/*
 * By replicate, what becomes of the sums: they grow with the stores that were drawn, up to as many
 * moves as there is time for, which does not depend on the access rate.
 */
static void scale_of(struct contended *contended, const struct store_sums *sums,
                     const double *stores, const double *times, bool limited)
{
    uint32_t replicates = contended->flows.communication->replicates;

    for (unsigned s = 0; s < SCENARIOS; s++) {
        for (uint32_t r = 0; r <= replicates; r++) {
            double more = stores[0] > 0 ? stores[r] / stores[0] : 0;
            double longer = times[0] > 0 ? times[r] / times[0] : 0;

            contended->flows.scale[s][r] = more;
            if (limited && sums->moves.of[s] * more > sums->limits.of[s] * longer)
                contended->flows.scale[s][r] = sums->limits.of[s] * longer / sums->moves.of[s];
        }
    }
}

/* Which of the acts are whose, in the bin: shares of what their threads do of that kind. */
static double share_of(const struct contended *contended, const struct act *act, size_t thread)
{
    const struct contended_thread *whose = &contended->line.threads[thread];
    double all = act->store ? whose->stores : whose->loads;

    return whose->thread_id == act->thread_id && all > 0 ? act->weight / all : 0;
}

static size_t thread_of(const struct contended_line *line, uint32_t thread_id)
{
    size_t i = 0;

    while (i < line->thread_count && line->threads[i].thread_id != thread_id)
        i++;
    return i;
}

static struct scenarios times(const struct scenarios *sum, double factor)
{
    struct scenarios product = *sum;

    for (unsigned s = 0; s < SCENARIOS; s++)
        product.of[s] *= factor;
    return product;
}

/* One in so many pairs is told, and stands for the others. */
static size_t stride_of(const struct contended *contended)
{
    return contended->flows.act_count / PARTNERS_MAX + 1;
}

static bool is_told(const struct contended *contended, size_t act, size_t other)
{
    return (act + other) % stride_of(contended) == 0;
}

/* Stores of third threads take the copies that a thread has read of what the owner stored. */
static void add_taken_by_others(struct contended *contended, size_t reader, size_t owner,
                                const struct scenarios *taken, double stores)
{
    const struct contended_line *line = &contended->line;
    uint32_t reader_id = contended->flows.acts[reader].thread_id;

    for (size_t i = 0; taken->of[MOST] > 0 && i < contended->flows.act_count; i++) {
        const struct act *act = &contended->flows.acts[i];
        size_t thread = thread_of(line, act->thread_id);
        struct scenarios transfers;

        if (!act->store || !(act->weight > 0) || thread == owner || act->thread_id == reader_id ||
            !is_told(contended, reader, i))
            continue;
        transfers = times(taken, share_of(contended, act, thread) * line->average[thread].stores /
                                     stores * (double)stride_of(contended));
        contended_flows_add(&contended->flows, reader, i, TRANSFER_WAR, &transfers);
    }
}

static void add_flows_of(struct contended *contended, size_t act, size_t owner,
                         const struct store_sums *sums)
{
    const struct contended_line *line = &contended->line;
    double stores = 0;

    for (size_t t = 0; t < line->thread_count; t++)
        stores += t == owner ? 0 : line->average[t].stores;
    for (size_t i = 0; i < contended->flows.act_count; i++) {
        const struct act *other = &contended->flows.acts[i];
        size_t thread = thread_of(line, other->thread_id);
        struct scenarios transfers;
        double share;

        if (thread == owner || thread == line->thread_count || !(other->weight > 0) ||
            !is_told(contended, act, i))
            continue;
        share = share_of(contended, other, thread) * (double)stride_of(contended);
        if (other->store) {
            transfers = times(&sums->ends, share * line->average[thread].stores / stores);
            contended_flows_add(&contended->flows, act, i, TRANSFER_WAW, &transfers);
        } else {
            transfers = times(&contended->reads[thread], share);
            contended_flows_add(&contended->flows, act, i, TRANSFER_RAW, &transfers);
            transfers = times(&contended->taken[thread], share);
            contended_flows_add(&contended->flows, i, act, TRANSFER_WAR, &transfers);
            transfers = times(&contended->taken_by_others[thread], share);
            add_taken_by_others(contended, i, owner, &transfers, stores);
        }
    }
}

static bool is_counted(const struct contended *contended, const struct line_use *use)
{
    const struct record_sample *record = contended->analysis->samples[use->sample].record;

    return use->store && contended_stores_again(record) && !(record->flags & SAMPLE_TURN) &&
           segments_position(contended->segments, use->sample) < contended->segments->count &&
           !polled_is_awaited(contended->polled, use->profile, use->line);
}

/* What follows the stores of one act of the owner in the bin. */
static void add_act(struct contended *contended, size_t act, size_t owner, size_t first_use,
                    double *stores, double *times_drawn)
{
    const struct analysis *analysis = contended->analysis;
    const struct contended_line *line = &contended->line;
    const struct contended_thread *thread = &line->threads[owner];
    uint32_t replicates = contended->flows.communication->replicates;
    struct store_sums sums = {0};

    memset(contended->reads, 0, line->thread_count * sizeof *contended->reads);
    memset(contended->taken, 0, line->thread_count * sizeof *contended->taken);
    memset(contended->taken_by_others, 0, line->thread_count * sizeof *contended->taken_by_others);
    memset(stores, 0, (replicates + 1) * sizeof *stores);
    memset(times_drawn, 0, (replicates + 1) * sizeof *times_drawn);
    for (size_t i = thread->first; i < thread->first + thread->count; i++) {
        uint32_t sample = line->uses[i].sample;

        if (contended->flows.act_of[first_use + i] != act || !is_counted(contended, &line->uses[i]))
            continue;
        add_store(contended, owner, sample, analysis->samples[sample].weight, &sums);
        for (uint32_t r = 0; r <= replicates; r++) {
            stores[r] += replicate_weight(analysis, r, sample);
            times_drawn[r] +=
                analysis->samples[sample].weight * replicate_times_drawn(analysis, r, sample);
        }
    }
    if (!(sums.moves.of[MOST] > 0))
        return;
    scale_of(contended, &sums, stores, times_drawn, has_real_time(analysis, line->uses[0].profile));
    add_flows_of(contended, act, owner, &sums);
}

/* One line in one bin of time: the uses [first, end). */
static void add_bin(struct contended *contended, size_t first, size_t end, double *scratch)
{
    const struct analysis *analysis = contended->analysis;
    struct contended_line *line = &contended->line;

    contended_line_describe(analysis, contended->uses, contended->uses->items + first, end - first,
                            line);
    if (line->thread_count < 2 || !line->stores)
        return;
    for (size_t i = 0; i < contended->flows.act_count; i++)
        contended->flows.acts[i].weight = 0;
    for (size_t i = first; i < end; i++)
        contended->flows.acts[contended->flows.act_of[i]].weight +=
            analysis->samples[contended->uses->items[i].sample].weight;
    for (size_t i = 0; i < contended->flows.act_count; i++) {
        const struct act *act = &contended->flows.acts[i];

        if (act->store && act->weight > 0)
            add_act(contended, i, thread_of(line, act->thread_id), first, scratch,
                    scratch + contended->flows.communication->replicates + 1);
    }
}

/* All uses of one line, in all bins. */
static void add_line(struct contended *contended, size_t first, size_t end, double *scratch)
{
    contended_flows_begin(&contended->flows, contended->uses->items, first, end);
    for (size_t i = first, next; i < end; i = next) {
        next = line_uses_end(contended->uses, i);
        add_bin(contended, i, next, scratch);
    }
}

static bool is_of_interest(const struct line_use *uses, size_t n)
{
    bool stores = false, threads = false;

    for (size_t i = 0; i < n; i++) {
        stores |= uses[i].store;
        threads |= uses[i].thread_id != uses[0].thread_id;
    }
    return stores && threads;
}

static void add_lines(struct contended *contended)
{
    const struct line_uses *uses = contended->uses;
    size_t replicates = contended->flows.communication->replicates + 1;
    double *scratch = allocate(2 * replicates, sizeof *scratch);

    for (size_t i = 0, end; i < uses->count; i = end) {
        for (end = i; end < uses->count && line_uses_same_line(&uses->items[end], &uses->items[i]);
             end++)
            ;
        if (is_of_interest(uses->items + i, end - i))
            add_line(contended, i, end, scratch);
    }
    free(scratch);
}

void communication_add_contended(struct communication *communication,
                                 const struct segments *segments, const struct polled *polled)
{
    const struct analysis *analysis = communication->analysis;
    struct contended contended = {
        .analysis = analysis, .segments = segments, .uses = &segments->uses, .polled = polled};
    size_t n = segments->uses.count + 1;

    overlaps_create(analysis, contended.uses, segments, &contended.overlaps);
    contended_flows_create(&contended.flows, communication, n);
    contended_line_create(&contended.line, n);
    contended.others = allocate(n, sizeof *contended.others);
    contended.reads = allocate(n, sizeof *contended.reads);
    contended.taken = allocate(n, sizeof *contended.taken);
    contended.taken_by_others = allocate(n, sizeof *contended.taken_by_others);
    add_lines(&contended);
    free(contended.others);
    free(contended.reads);
    free(contended.taken);
    free(contended.taken_by_others);
    contended_flows_free(&contended.flows);
    contended_line_free(&contended.line);
    overlaps_free(&contended.overlaps);
}
