/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/object_time.h"

#include <stdlib.h>

#include "report/findings/burst_time.h"
#include "report/findings/curve_evidence.h"
#include "report/findings/line_order.h"
#include "report/findings/modelled_pace.h"

/* Mean bytes of an access to each object. */
static double *mean_widths(const struct model *model)
{
    double *widths = allocate_zeroed(model->objects.count, sizeof(*widths));
    double *weights = allocate_zeroed(model->objects.count, sizeof(*weights));

    for (size_t i = 0; i < model->observations; i++) {
        uint32_t object = model->by_object.labels[i];
        double weight = analysis_probe_weight(model->analysis, i);

        if (object == GROUP_NONE)
            continue;
        widths[object] += weight * analysis_probe(model->analysis, i, NULL)->width;
        weights[object] += weight;
    }
    for (size_t i = 0; i < model->objects.count; i++)
        widths[i] = weights[i] > 0 ? widths[i] / weights[i] : 0;
    free(weights);
    return widths;
}

static struct estimate cost_of(struct model *model, const struct access_costs *costs,
                               const struct ranked_group *ranked, double width, double line_order)
{
    const struct curve_point *points = ranked->points;
    struct access_evidence evidence = {.width = width,
                                       .line_order = line_order,
                                       .line_bytes = analysis_line_size(model->analysis),
                                       .visits = points[model->level_size[0]].miss_ratio.value};
    struct subset subset = grouping_subset(&model->by_object, ranked->group);
    struct timed_evidence timed = timed_evidence_of(model, subset);
    struct line_reach reach = {.in_order = evidence_is_in_order(&evidence),
                               .from_memory = timed_evidence_least(&timed),
                               .waited = modelled_waiting(model, subset)};
    struct estimate cost = access_place_cost(model, costs, points, reach);

    return (struct estimate){cost.value + costs->hit_ns, cost.lo + costs->hit_ns,
                             cost.hi + costs->hit_ns};
}

/* What an access to each ranked object costs. */
static void find_costs(struct model *model, const struct access_costs *costs,
                       const struct ranking *ranking, struct time_part *parts)
{
    struct subset *subsets = allocate_zeroed(ranking->count + 1, sizeof(*subsets));
    double *orders = allocate_zeroed(ranking->count + 1, sizeof(*orders));
    double *widths = mean_widths(model);

    for (size_t i = 0; i < ranking->count; i++)
        subsets[i] = grouping_subset(&model->by_object, ranking->items[i].group);
    line_orders_of(model, subsets, ranking->count, orders);
    for (size_t i = 0; i < ranking->count; i++)
        parts[i].cost_ns =
            cost_of(model, costs, &ranking->items[i], widths[ranking->items[i].group], orders[i]);
    free(widths);
    free(orders);
    free(subsets);
}

/* The part of each observation: the object's place in the ranking, or the rest. */
static uint32_t *label_parts(const struct model *model, const struct ranking *ranking)
{
    uint32_t *labels = allocate_zeroed(model->observations, sizeof(*labels));
    uint32_t *rank = allocate_zeroed(model->objects.count, sizeof(*rank));

    for (size_t i = 0; i < model->objects.count; i++)
        rank[i] = (uint32_t)ranking->count;
    for (size_t i = 0; i < ranking->count; i++)
        rank[ranking->items[i].group] = (uint32_t)i;
    for (size_t i = 0; i < model->observations; i++) {
        uint32_t object = model->by_object.labels[i];

        labels[i] = object == GROUP_NONE ? (uint32_t)ranking->count : rank[object];
    }
    free(rank);
    return labels;
}

struct estimate *object_time_of_ranking(struct model *model, const struct ranking *ranking)
{
    struct time_part *parts;
    struct access_costs costs;
    struct estimate *shares;
    uint32_t *labels;

    if (model->exact || model->machine.levels == 0)
        return NULL;
    access_costs_of(&model->machine, model_timed_lines(model), &costs);
    parts = allocate_zeroed(ranking->count + 1, sizeof(*parts));
    find_costs(model, &costs, ranking, parts);
    parts[ranking->count].cost_ns = (struct estimate){costs.hit_ns, costs.hit_ns, costs.hit_ns};
    labels = label_parts(model, ranking);
    burst_time_shares(model, labels, parts, ranking->count + 1, 0, true, NULL);
    shares = allocate_zeroed(ranking->count + 1, sizeof(*shares));
    for (size_t i = 0; i < ranking->count; i++)
        shares[i] = parts[i].share;
    free(labels);
    free(parts);
    return shares;
}
