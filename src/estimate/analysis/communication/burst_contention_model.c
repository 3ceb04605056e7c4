/* SPDX-License-Identifier: BSD-3-Clause */
/* How often a line moves that threads use, between the moments at which bursts saw it: modelled. */
#include <math.h>
#include <string.h>

#include "analysis/communication/burst_contention_internal.h"

/* A bin of time has so many uses, so that rates in it mean something; but is no shorter. */
enum { BIN_USES = 16 };
static const double BIN_LEAST_NS = 100e6;

static double share_of(const struct burst_actor *actor, const struct burst_act *act)
{
    double all = act->store ? actor->stores : actor->loads;

    return all > 0 ? act->weight / all : 0;
}

static void add(struct burst_contention *out, size_t source, size_t destination, unsigned kind,
                double transfers, const struct scenarios *factors)
{
    struct scenarios *sum = &out->transfers[burst_contention_cell(out, source, destination, kind)];

    for (unsigned s = 0; s < SCENARIOS; s++)
        sum->of[s] += transfers * factors->of[s];
}

/* Stays per visit of the thread, (0, 1]. */
static double stays_of(const struct burst_actor *actor)
{
    return fmin(1, actor->stays / fmax(actor->loads, actor->stores));
}

/* Moves per stay, if threads come to the line at random, and each has it for as long as it stays.
 */
static double changes_of_stays(const struct line_model *model, size_t n, double gap)
{
    struct line_user *stays = model->others + 2 * n;

    for (size_t i = 0; i < n; i++) {
        double stay = stays_of(&model->out->actors[model->other_actors[i]]);

        stays[i].loads = model->others[i].loads * stay;
        stays[i].stores = model->others[i].stores * stay;
    }
    return contention_gap(stays, n, gap).transfers;
}

/*
 * The share of the run's time that a thread is at the line, and its variance. How much CPU time it
 * had between its first burst there and its last is known, and in what part of that it was at the
 * line is told by n bursts.
 */
static double share_at_line(const struct line_model *model, const struct burst_actor *actor,
                            double *variance)
{
    double n = (double)actor->uses, ran, part, share;

    if (actor->uses < 2)
        return 0;
    ran = (double)(actor->last->app_ns - actor->first->app_ns) * n / (n - 1);
    if (!(ran > 0))
        return 0;
    part = fmin(1, actor->at_line_ns / ran);
    share = fmin(1, ran * part / model->span);
    *variance += share * share * ((1 - part) / (part * n) + 1 / (n * n));
    return share;
}

/*
 * The part of the owner's time at the line in which the other one is there too, at least (Frechet's
 * bound). Over the whole run: in one bin the shares of the time are so uncertain that threads which
 * take turns would seem to be there together.
 */
static double least_overlap(const struct line_model *model, const struct burst_actor *owner,
                            const struct burst_actor *other)
{
    double variance = 0;
    double u = share_at_line(model, owner, &variance), v = share_at_line(model, other, &variance);

    return u > 0 ? fmax(0, u + v - 1 - 1.96 * sqrt(variance)) / u : 0;
}

/*
 * How much more or less happens than if all came at random over the whole bin: the threads use the
 * line at the same time in a part of the bin only, and it cannot move faster than it does. Of
 * threads that are at it in the shares u and v of the time, both are in u v of it if they run
 * independently. What a burst does at a line it does in one stay there; where it comes to the line
 * once, each of its visits is one.
 */
static struct scenarios factors_of(const struct line_model *model, uint32_t owner, size_t n,
                                   double width)
{
    const struct burst_actor *actor = &model->out->actors[owner];
    double u = fmin(1, actor->app_ns / width), alone = 1, together = 0;
    double gap = width / actor->stores;
    double average = contention_gap(model->others, n, gap).transfers;
    double most = contention_most(model->others, n, gap), active, moves;
    const struct profile *profile = model->analysis->profiles[model->uses[0].profile];
    double stay = stays_of(actor), changes;
    double at_once = fmax(2, fmin((double)profile_run_number(profile, "cpus", 2), (double)n + 1));
    struct estimate pace = line_transfer_ns;
    struct scenarios overlap, factors;

    if (!(average > 0) || !(u > 0))
        return (struct scenarios){{0}};
    changes = changes_of_stays(model, n, gap / stay) * stay;
    for (size_t i = 0; i < n; i++) {
        const struct burst_actor *other = &model->out->actors[model->other_actors[i]];
        double v = fmin(1, other->app_ns / width);

        alone *= 1 - v;
        together = fmax(together, least_overlap(model, actor, other));
        if (v > 0) {
            model->others[i].loads /= v;
            model->others[i].stores /= v;
        }
    }
    active = contention_gap(model->others, n, gap * u).transfers;
    overlap = (struct scenarios){.of = {[USUAL] = 1 - alone, [LEAST] = together, [MOST] = 1}};
    moves = actor->stores * average;
    for (unsigned s = 0; s < SCENARIOS; s++) {
        double speed = s == LEAST ? pace.hi : s == MOST ? pace.lo : pace.value;
        double limit = u * width * overlap.of[s] / at_once / speed;
        double more = s == MOST ? fmax(1, most / average) : overlap.of[s] * active / average;

        factors.of[s] = fmin(more, limit / moves);
    }
    factors.of[USUAL] = fmax(factors.of[USUAL], changes / average);
    factors.of[MOST] = fmax(factors.of[MOST], factors.of[USUAL]);
    return factors;
}

static void add_owner(struct line_model *model, uint32_t owner, double width)
{
    struct burst_contention *out = model->out;
    const struct burst_actor *actor = &out->actors[owner];
    double gap = width / actor->stores, stores = 0;
    struct scenarios factors;
    size_t n = 0;

    for (uint32_t i = 0; i < out->actor_count; i++) {
        const struct burst_actor *other = &out->actors[i];

        if (!line_model_are_parties(model, owner, i) ||
            !line_model_live_together(model, owner, i) || !(other->loads + other->stores > 0))
            continue;
        model->other_actors[n] = i;
        model->others[n++] = (struct line_user){other->loads / width, other->stores / width};
        stores += other->stores;
    }
    if (n == 0)
        return;
    struct line_user *average = model->others + n;

    memcpy(average, model->others, n * sizeof *average);
    factors = factors_of(model, owner, n, width);
    for (size_t k = 0; k < n; k++) {
        const struct burst_actor *other = &out->actors[model->other_actors[k]];
        double ends = contention_gap(average, n, gap).ends * actor->stores;
        double reads = contention_reads(average, n, k, gap) * actor->stores;
        double taken = contention_taken(average, n, k, gap) * actor->stores;
        struct scenarios of_reader = factors;

        /* It may store without a load before: then one transfer brings the line, and not a read and
         * the loss of what was read. */
        if (other->stores > 0)
            of_reader.of[LEAST] /= 2;

        for (size_t a = 0; a < out->act_count; a++) {
            const struct burst_act *source = &out->acts[a];

            if (source->actor != owner || !source->store || !(source->weight > 0))
                continue;
            for (size_t b = 0; b < out->act_count; b++) {
                const struct burst_act *act = &out->acts[b];
                double share = share_of(actor, source) * share_of(other, act);

                if (act->actor != model->other_actors[k] || !(act->weight > 0))
                    continue;
                if (act->store) {
                    add(out, a, b, TRANSFER_WAW, share * ends * other->stores / stores, &factors);
                } else {
                    add(out, a, b, TRANSFER_RAW, share * reads, &of_reader);
                    add(out, b, a, TRANSFER_WAR, share * taken, &of_reader);
                }
            }
        }
    }
}

/* The uses [first, end), in a bin of that many ns. */
static void add_bin(struct line_model *model, size_t first, size_t end, double width)
{
    struct burst_contention *out = model->out;

    for (size_t i = 0; i < out->actor_count; i++)
        out->actors[i].loads = out->actors[i].stores = out->actors[i].app_ns =
            out->actors[i].stays = 0;
    for (size_t i = 0; i < out->act_count; i++)
        out->acts[i].weight = 0;
    for (size_t i = first; i < end; i++) {
        const struct burst_use *use = &model->uses[i];
        struct burst_actor *actor;

        if (model->actor_of[i] == NOWHERE)
            continue;
        actor = &out->actors[model->actor_of[i]];
        actor->app_ns += use->app_ns;
        actor->stays += use->weight;
        for (unsigned k = 0; k < 2; k++) {
            double weight = use->weight * (k ? use->record->stores : use->record->loads);

            if (model->act_of[i][k] == NOWHERE)
                continue;
            out->acts[model->act_of[i][k]].weight += weight;
            *(k ? &actor->stores : &actor->loads) += weight;
        }
    }
    for (uint32_t i = 0; i < out->actor_count; i++)
        if (out->actors[i].stores > 0)
            add_owner(model, i, width);
}

void line_model_add_bins(struct line_model *model)
{
    double begin = (double)model->uses[0].time;
    double span = (double)model->uses[model->count - 1].time - begin;
    double bins = fmax(1, floor(fmin((double)model->count / BIN_USES, span / BIN_LEAST_NS)));
    double width;

    /* The first use and the last stand for some time before and after them. */
    model->span = span * (1 + 1 / (double)model->count);
    width = model->span / bins;
    for (size_t i = 0; span > 0 && i < model->count;) {
        double limit = begin + width * (floor(((double)model->uses[i].time - begin) / width) + 1);
        size_t end = i + 1;

        while (end < model->count && (double)model->uses[end].time < limit)
            end++;
        add_bin(model, i, end, width);
        i = end;
    }
}
