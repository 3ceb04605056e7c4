/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/coherence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/communication_view.h"
#include "support/intern_table.h"

/* What comes to a thread of the lines of one object, or of one line where they are told apart. */
struct received {
    double of[TRANSFER_WAW + 1]; /* transfers, by kind */
    bool one_line;
};

struct receipts {
    struct intern_table *keys;
    ARRAY(struct received) items;
};

static void add_flow(struct receipts *receipts, const struct flow *flow)
{
    struct {
        uint64_t profile, line, object;
        uint32_t thread, kind;
    } key;
    uint32_t number;

    memset(&key, 0, sizeof(key));
    key.profile = flow->profile_index;
    key.line = flow->line_address;
    key.object = flow->object_base != 0 ? flow->object_base : flow->object_reference;
    key.thread = flow->destination.thread_id;
    key.kind = flow->object_kind;
    number = intern_table_insert(receipts->keys, &key, sizeof(key));
    if (number == receipts->items.count)
        ARRAY_PUSH(&receipts->items, (struct received){.one_line = flow->line_address != 0});
    receipts->items.items[number].of[flow->kind] += flow->transfers;
}

/* Of a flow that is known by its line, threads use the line all the time; of others each line is
 * used seldom (docs/communication.md, "Lines that bursts meet at"). */
struct missing {
    double part;        /* misses per transfer (RAW and WAW), 0.5 to 1; 0: nothing */
    double of_one_line; /* share of these misses on lines that are used all the time */
};

/*
 * A store that follows a load of the same thread, as in x++, finds the line there: of the transfers
 * to a thread only the loads' miss. Stores to what others just read alone (WAR) are those of the
 * last writer, which has the line, or count as WAW as well (docs/exact.md, definition).
 */
static struct missing missing_of(const struct receipts *receipts)
{
    double misses = 0, transfers = 0, of_one_line = 0;

    for (size_t i = 0; i < receipts->items.count; i++) {
        const struct received *received = &receipts->items.items[i];
        const double *of = received->of;
        double most = fmax(of[TRANSFER_RAW], of[TRANSFER_WAW]);

        misses += most;
        of_one_line += received->one_line ? most : 0;
        transfers += of[TRANSFER_RAW] + of[TRANSFER_WAW];
    }
    if (!(misses > 0))
        return (struct missing){0};
    return (struct missing){misses / transfers, of_one_line / misses};
}

static bool comes_to_whom_we_ask_for(const struct model *model, const struct flow *flow)
{
    uint32_t thread = model->asked.thread_id;

    return thread == 0 || flow->destination.thread_id == thread;
}

/* Of a region it is not known what comes to it: all of it may, or none. */
static struct estimate per_access(const struct model *model, struct estimate all, double part)
{
    double accesses = model->accesses.value;

    if (model->region != NULL)
        return (struct estimate){
            fmin(1, part * all.value / fmax(accesses, analysis_accesses(model->analysis).value)), 0,
            fmin(1, part * all.hi / accesses)};
    return (struct estimate){fmin(1, part * all.value / accesses),
                             fmin(1, part * all.lo / accesses), fmin(1, part * all.hi / accesses)};
}

/* Modelled coherence misses per access, of a cache that is large enough for everything. */
struct modelled {
    struct estimate all;
    double of_one_line; /* share of them */
};

/* False: nothing is modelled. */
static bool find_modelled(struct model *model, struct modelled *modelled)
{
    const struct communication_view *view = communication_view_of(model);
    struct receipts receipts = {.keys = NULL};
    struct missing missing;
    uint32_t *labels;
    bool any = false;

    if (view->communication == NULL || !(model->accesses.value > 0))
        return false;
    receipts.keys = intern_table_create();
    labels = allocate_zeroed(view->count + 1, sizeof(*labels));
    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);

        labels[i] = GROUP_NONE;
        any |= flow->modelled;
        if (!flow->modelled || flow->kind == TRANSFER_WAR || !comes_to_whom_we_ask_for(model, flow))
            continue;
        labels[i] = 0;
        add_flow(&receipts, flow);
    }
    missing = missing_of(&receipts);
    modelled->all =
        per_access(model, communication_total(view->communication, labels, 0), missing.part);
    modelled->of_one_line = missing.of_one_line;
    free(labels);
    free(receipts.items.items);
    intern_table_free(receipts.keys);
    return any || communication_is_modelled(view->communication);
}

/*
 * Those of a cache with so many misses beside them; what misses anyhow is not missed twice. Lines
 * that are used all the time every cache has. One that is handed over is taken to be there as often
 * as that of any visit, any use that comes back to a line after others: these miss in the smallest
 * cache.
 */
static double beside(double coherence, double of_one_line, double visits, double misses)
{
    double handed_over = fmin(coherence * (1 - of_one_line), visits);
    double cached = visits > 0 ? fmax(0, 1 - misses / visits) : 0;

    return handed_over * cached + (coherence - handed_over) * (1 - fmin(1, misses));
}

static struct estimate added_to(struct estimate misses, const struct modelled *modelled,
                                struct estimate visits)
{
    const struct estimate *all = &modelled->all;
    double share = modelled->of_one_line;

    /* More visits: less of it is in every cache. */
    return (struct estimate){beside(all->value, share, visits.value, misses.value),
                             beside(all->lo, share, visits.hi, misses.hi), all->hi};
}

bool coherence_of_level(struct model *model, size_t level, struct estimate *coherence)
{
    struct modelled modelled;
    struct estimate added;

    *coherence = model->misses[level].coherence;
    if (!find_modelled(model, &modelled))
        return false;
    added = added_to(model->whole[model->level_size[level]].miss_ratio, &modelled,
                     model->whole[0].miss_ratio);
    coherence->value = fmin(1, coherence->value + added.value);
    coherence->lo = fmin(1, coherence->lo + added.lo);
    coherence->hi = fmin(1, coherence->hi + added.hi);
    return true;
}

/* The smaller cache misses what the larger one misses. */
static void keep_order(struct curve_point *points, size_t count)
{
    for (size_t i = count; i-- > 1;)
        points[i - 1].miss_ratio.lo = fmax(points[i - 1].miss_ratio.lo, points[i].miss_ratio.lo);
}

void coherence_add(struct model *model, struct curve_point *points, size_t count)
{
    struct modelled modelled;
    struct estimate visits;

    if (count == 0 || !find_modelled(model, &modelled))
        return;
    visits = points[0].miss_ratio;
    for (size_t i = 0; i < count; i++) {
        struct estimate *ratio = &points[i].miss_ratio;
        struct estimate added = added_to(*ratio, &modelled, visits);

        ratio->value = fmin(1, ratio->value + added.value);
        ratio->lo = fmin(ratio->value, ratio->lo + added.lo);
        ratio->hi = fmin(1, ratio->hi + added.hi);
    }
    keep_order(points, count);
}
