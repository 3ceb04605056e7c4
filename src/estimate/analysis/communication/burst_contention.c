/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/communication/burst_contention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication/burst_contention_internal.h"
#include "support/memory.h"

/* ---- who does what ---- */

static struct burst_actor actor_of(const struct profile *profile, uint32_t process,
                                   uint32_t thread_id)
{
    const struct record_thread *thread = profile_thread(profile, thread_id);
    const struct record_thread_end *end = profile_thread_end(profile, thread_id);

    return (struct burst_actor){.process = process,
                                .thread_id = thread_id,
                                .began = thread ? thread->monotonic_ns : 0,
                                .ended = end ? end->monotonic_ns : UINT64_MAX};
}

static uint32_t find_actor(struct line_model *model, const struct burst_use *use,
                           uint32_t thread_id)
{
    struct burst_contention *out = model->out;
    size_t i = 0;

    while (i < out->actor_count &&
           (out->actors[i].process != use->process || out->actors[i].thread_id != thread_id))
        i++;
    if (i == BURST_ACTS_MAX)
        return NOWHERE;
    if (i == out->actor_count)
        out->actors[out->actor_count++] =
            actor_of(model->analysis->profiles[use->profile], use->process, thread_id);
    return (uint32_t)i;
}

static uint32_t find_act(struct burst_contention *out, const struct burst_act *act)
{
    size_t i = 0;

    while (i < out->act_count &&
           (out->acts[i].actor != act->actor || out->acts[i].store != act->store ||
            out->acts[i].part != act->part || out->acts[i].ip != act->ip))
        i++;
    if (i == BURST_ACTS_MAX)
        return NOWHERE;
    if (i == out->act_count)
        out->acts[out->act_count++] = *act;
    out->acts[i].mask |= act->mask;
    return (uint32_t)i;
}

static void list_acts(struct line_model *model)
{
    for (size_t i = 0; i < model->count; i++) {
        const struct burst_use *use = &model->uses[i];
        const struct record_shared_use *record = use->record;
        const struct record_burst *burst = model->analysis->bursts[use->burst].record;
        uint32_t actor = find_actor(model, use, burst->thread_id);
        struct burst_act act = {.actor = actor, .burst = use->burst, .part = use->part};

        model->actor_of[i] = actor;
        model->act_of[i][0] = model->act_of[i][1] = NOWHERE;
        if (actor == NOWHERE)
            continue;
        model->out->actors[actor].uses++;
        model->out->actors[actor].visits += use->weight * (record->loads + record->stores);
        model->out->actors[actor].at_line_ns += use->app_ns;
        if (model->out->actors[actor].first == NULL)
            model->out->actors[actor].first = burst;
        model->out->actors[actor].last = burst;
        if (record->loads > 0) {
            act.ip = record->load_ip;
            act.mask = record->read;
            act.offset = record->load_offset;
            act.width = record->load_width;
            model->act_of[i][0] = find_act(model->out, &act);
        }
        if (record->stores > 0) {
            act.store = true;
            act.ip = record->store_ip;
            act.mask = record->written;
            act.offset = record->store_offset;
            act.width = record->store_width;
            model->act_of[i][1] = find_act(model->out, &act);
        }
    }
}

/* ---- the table ---- */

const struct scenarios *burst_contention_of(const struct burst_contention *contention,
                                            size_t source, size_t destination, unsigned kind)
{
    return &contention->transfers[burst_contention_cell(contention, source, destination, kind)];
}

struct flow_end burst_contention_end(const struct analysis *analysis,
                                     const struct burst_contention *contention,
                                     const struct burst_act *act)
{
    return (struct flow_end){
        .thread_id = contention->actors[act->actor].thread_id,
        .ip = act->ip,
        .offset = (uint16_t)(act->part * analysis->run_line_size + act->offset),
        .width = act->width,
        .cpu_known = true,
        .cpu = analysis->bursts[act->burst].record->cpu,
    };
}

bool burst_contention_is_true(const struct burst_contention *contention, size_t source,
                              size_t destination, unsigned kind)
{
    const struct burst_act *from = &contention->acts[source], *to = &contention->acts[destination];
    uint64_t bytes = 0;

    /* Of a read: what others stored; of a store: what the holder of the copy did with it. */
    for (size_t i = 0; i < contention->act_count; i++) {
        const struct burst_act *act = &contention->acts[i];

        if (act->part == to->part && (kind == TRANSFER_RAW ? act->store && act->actor != to->actor
                                                           : act->actor == from->actor))
            bytes |= act->mask;
    }
    return bytes & to->mask;
}

bool line_model_are_parties(const struct line_model *model, uint32_t one, uint32_t other)
{
    const struct burst_actor *actors = model->out->actors;

    return model->parties == BETWEEN_THREADS ? one != other
                                             : actors[one].process != actors[other].process;
}

bool line_model_live_together(const struct line_model *model, uint32_t one, uint32_t other)
{
    const struct burst_actor *actors = model->out->actors;

    return actors[one].began < actors[other].ended && actors[other].began < actors[one].ended;
}

/* ---- what is seen ---- */

/*
 * From one burst at the line to the next one, of another thread: if either stored, the line has
 * come over in between, once at least. Whatever else happened, this is no model.
 */
static void count_changes(struct line_model *model)
{
    for (size_t i = 1; i < model->count; i++) {
        const uint32_t *from = model->act_of[i - 1], *to = model->act_of[i];
        uint32_t source, destination, kind;

        if (model->actor_of[i] == NOWHERE || model->actor_of[i - 1] == NOWHERE ||
            !line_model_are_parties(model, model->actor_of[i - 1], model->actor_of[i]) ||
            (from[1] == NOWHERE && to[1] == NOWHERE))
            continue;
        source = from[1] != NOWHERE ? from[1] : from[0];
        destination = from[1] != NOWHERE && to[0] != NOWHERE ? to[0] : to[1];
        if (source == NOWHERE || destination == NOWHERE)
            continue;
        kind = from[1] == NOWHERE                    ? TRANSFER_WAR
               : model->out->acts[destination].store ? TRANSFER_WAW
                                                     : TRANSFER_RAW;
        model->seen[burst_contention_cell(model->out, source, destination, kind)] += 1;
    }
}

/* ---- both together ---- */

/*
 * Few bursts leave a relative error of 1/sqrt(n) beside what the model leaves open, n of the thread
 * with fewer; and what was seen of a pair of threads was there.
 */
static void bound(struct line_model *model)
{
    struct burst_contention *out = model->out;
    size_t n = out->act_count, actors = out->actor_count;
    double *least = model->pairs, *seen = model->pairs + actors * actors;

    memset(model->pairs, 0, 2 * actors * actors * sizeof *model->pairs);
    for (size_t i = 0; i < n * n * BURST_KINDS; i++) {
        size_t pair =
            out->acts[i / BURST_KINDS / n].actor * actors + out->acts[i / BURST_KINDS % n].actor;

        least[pair] += out->transfers[i].of[LEAST];
        seen[pair] += model->seen[i];
    }
    for (size_t i = 0; i < n * n * BURST_KINDS; i++) {
        const struct burst_actor *x = &out->actors[out->acts[i / BURST_KINDS / n].actor];
        const struct burst_actor *y = &out->actors[out->acts[i / BURST_KINDS % n].actor];
        size_t pair = (size_t)(x - out->actors) * actors + (size_t)(y - out->actors);
        double error = 1.96 / sqrt((double)(x->uses < y->uses ? x->uses : y->uses));
        double certain = fmax(0, 1 - error);
        struct scenarios *one = &out->transfers[i];

        if (!line_model_live_together(model, (uint32_t)(x - out->actors),
                                      (uint32_t)(y - out->actors))) {
            *one = (struct scenarios){.of = {model->seen[i], model->seen[i], model->seen[i]}};
            continue;
        }
        one->of[LEAST] =
            least[pair] * certain > seen[pair] ? one->of[LEAST] * certain : model->seen[i];
        one->of[USUAL] = fmax(one->of[USUAL], one->of[LEAST]);
        /* Never at the line within one bin: no more than the one that came less often. */
        one->of[MOST] = one->of[MOST] > 0    ? one->of[MOST] * (1 + error)
                        : model->seen[i] > 0 ? fmin(x->visits, y->visits)
                                             : 0;
        one->of[MOST] = fmax(one->of[MOST], one->of[USUAL]);
    }
}

static void make_room(struct line_model *model)
{
    struct burst_contention *out = model->out;
    size_t n = model->count < BURST_ACTS_MAX ? model->count : BURST_ACTS_MAX;
    size_t acts = 2 * model->count < BURST_ACTS_MAX ? 2 * model->count : BURST_ACTS_MAX;

    out->actors = allocate(n, sizeof *out->actors);
    out->acts = allocate(acts, sizeof *out->acts);
    model->act_of = allocate(model->count, sizeof *model->act_of);
    model->actor_of = allocate(model->count, sizeof *model->actor_of);
    model->others = allocate(3 * n, sizeof *model->others);
    model->other_actors = allocate(n, sizeof *model->other_actors);
    model->pairs = allocate(2 * n * n, sizeof *model->pairs);
}

void burst_contention_find(const struct analysis *analysis, enum burst_parties parties,
                           const struct burst_use *uses, size_t count, struct burst_contention *out)
{
    struct line_model model = {
        .analysis = analysis, .parties = parties, .uses = uses, .count = count, .out = out};
    size_t cells;

    *out = (struct burst_contention){0};
    make_room(&model);
    list_acts(&model);
    cells = out->act_count * out->act_count * BURST_KINDS;
    out->transfers = allocate_zeroed(cells + 1, sizeof *out->transfers);
    model.seen = allocate_zeroed(cells + 1, sizeof *model.seen);
    count_changes(&model);
    line_model_add_bins(&model);
    bound(&model);
    free(model.act_of);
    free(model.actor_of);
    free(model.others);
    free(model.other_actors);
    free(model.pairs);
    free(model.seen);
}

void burst_contention_free(struct burst_contention *contention)
{
    free(contention->actors);
    free(contention->acts);
    free(contention->transfers);
    *contention = (struct burst_contention){0};
}
