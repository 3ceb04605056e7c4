/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/contended_time.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/communication/contention.h"

/* Of the time of the loops at a line, so much has to be known. */
static const double known_least = 0.5;

void contended_places_add(line_user_places *places, const struct flow *flow)
{
    if (flow->line_address == 0)
        return;
    ARRAY_PUSH(places, ((struct line_user_place){flow->profile_index, flow->source.thread_id,
                                                 flow->line_address}));
    ARRAY_PUSH(places, ((struct line_user_place){flow->profile_index, flow->destination.thread_id,
                                                 flow->line_address}));
}

/* All lines that move between threads in the program's code. Returns transfers, at most. */
static double list_places(const struct communication_view *view, line_user_places *places)
{
    uint32_t *labels = allocate_zeroed(view->count + 1, sizeof(*labels));
    double most;

    for (size_t i = 0; i < view->count; i++) {
        labels[i] = view->place[i] == FLOW_PROGRAM ? 0 : (uint32_t)GROUP_NONE;
        if (labels[i] == 0)
            contended_places_add(places, communication_flow(view->communication, i));
    }
    most = communication_total(view->communication, labels, 0).hi;
    free(labels);
    return most;
}

static bool is_at(const struct model *model, size_t observation, const struct thread_loop *loops,
                  size_t count)
{
    const struct record_burst *burst = analysis_probe_burst(model->analysis, observation);
    struct thread_loop loop = {.thread_id = burst->thread_id, .loop = burst->loop};

    analysis_probe(model->analysis, observation, &loop.profile);
    return thread_loops_contain(loops, count, loop);
}

void contended_bursts_find(struct model *model, double cpu_ns, double least,
                           struct contended_bursts *contended)
{
    struct communication_view *view;
    line_user_places places = {0};
    struct thread_loop *loops;
    size_t count;

    *contended = (struct contended_bursts){.fought = NULL};
    if (model->exact || !(cpu_ns > 0))
        return;
    view = communication_view_of(model);
    if (view->communication == NULL || view->threads.count < 2 || view->count == 0)
        return;
    if (list_places(view, &places) * line_transfer_ns.hi >= least * cpu_ns) {
        count = thread_loops_of(model, places.items, places.count, &loops);
        contended->fought = allocate_zeroed(model->observations + 1, sizeof(*contended->fought));
        for (size_t i = 0; i < model->observations; i++)
            contended->fought[i] = is_at(model, i, loops, count);
        free(loops);
    }
    free(places.items);
}

void contended_bursts_free(struct contended_bursts *contended)
{
    free(contended->fought);
    free(contended->waits.items);
    *contended = (struct contended_bursts){.fought = NULL};
}

bool contended_time_at(const struct model *model, const struct contended_bursts *contended,
                       line_user_places *places, struct estimate *time)
{
    struct cluster_sums sums[3] = {{0}}; /* of the share, its lower and its upper end */
    struct thread_loop *loops;
    double known = 0, whole = 0, scale;
    size_t count;

    if (contended->fought == NULL)
        return false;
    count = thread_loops_of(model, places->items, places->count, &loops);
    for (size_t i = 0; i < contended->waits.count; i++) {
        const struct burst_wait *wait = &contended->waits.items[i];

        if (!is_at(model, wait->observation, loops, count))
            continue;
        whole += wait->weight;
        if (wait->share.value < 0)
            continue;
        known += wait->weight;
        cluster_sums_add(&sums[0], wait->weight, wait->share.value);
        cluster_sums_add(&sums[1], wait->weight, wait->share.lo);
        cluster_sums_add(&sums[2], wait->weight, wait->share.hi);
    }
    free(loops);
    if (!(known > 0) || known < known_least * whole)
        return false;
    scale = whole / known;
    *time = (struct estimate){fmin(1, scale * cluster_share(&sums[0], &contended->all).value),
                              fmin(1, scale * cluster_share(&sums[1], &contended->all).lo),
                              fmin(1, scale * cluster_share(&sums[2], &contended->all).hi)};
    return true;
}
