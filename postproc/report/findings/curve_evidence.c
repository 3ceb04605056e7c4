/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/curve_evidence.h"

#include <math.h>

/* Past this part of the first misses a fall of the curve is done. */
static const double after_fall = 0.4;

static double ratio_end(struct estimate ratio, int end)
{
    return end == 0 ? ratio.value : end < 0 ? ratio.lo : ratio.hi;
}

struct estimate access_place_cost(const struct model *model, const struct access_costs *costs,
                                  const struct curve_point *points, struct line_reach reach)
{
    double ends[3];

    for (int end = -1; end <= 1; end++) {
        double ratios[MACHINE_LEVELS_MAX];

        for (size_t i = 0; i < costs->levels; i++) {
            const struct curve_point *point = &points[model->level_size[i]];

            ratios[i] = point->beyond && end < 0 ? 0 : ratio_end(point->miss_ratio, end);
            /* What the curve does not know may have been timed. */
            if (end < 0 && i > 0 && !reach.in_order)
                ratios[i] = fmax(ratios[i], reach.from_memory * ratios[0]);
            /* A larger cache holds what a smaller one does: bounds where nothing was seen to miss
             * do not know that. */
            if (i > 0)
                ratios[i] = fmin(ratios[i], ratios[i - 1]);
        }
        ends[end + 1] = access_cost_of_misses(costs, ratios, reach);
    }
    return (struct estimate){ends[1], fmin(ends[0], ends[1]), ends[2]};
}

/* The point of the largest size that is not above `bytes`. */
static size_t point_below(const struct model *model, double bytes)
{
    size_t at = 0;

    while (at + 1 < model->size_count && model->sizes[at + 1] <= bytes)
        at++;
    return at;
}

/* Where the curve has fallen, and how much of its misses are left well before that. */
static void find_fall(const struct model *model, const struct curve_point *points,
                      struct access_evidence *evidence)
{
    size_t at = model->level_size[0];
    double first = points[at].miss_ratio.value;

    evidence->need_bytes = evidence->sharpness = 0;
    while (at < model->size_count && !points[at].beyond &&
           points[at].miss_ratio.value > after_fall * first)
        at++;
    if (at == model->size_count || points[at].beyond || !(first > 0))
        return;
    evidence->need_bytes = model->sizes[at];
    evidence->sharpness = points[point_below(model, model->sizes[at] / 3)].miss_ratio.value / first;
}

/*
 * The level whose misses take most of the time, of those that the object is too large for, if there
 * are any: misses of a cache that holds it are those of a size axis that is a little off, or of
 * other data that passes through.
 */
static size_t costly_level(const struct model *model, const struct access_costs *costs,
                           const struct curve_point *points, double object_bytes)
{
    bool too_large = object_bytes >= EVIDENCE_FITS * (double)model->machine.caches[0].bytes;
    double most = 0;
    size_t level = 0;

    for (size_t i = 0; i < costs->levels; i++) {
        double cost = points[model->level_size[i]].miss_ratio.value *
                      (costs->latency_ns[i + 1] - costs->latency_ns[i]);

        if (too_large && object_bytes < EVIDENCE_FITS * (double)model->machine.caches[i].bytes)
            break;
        if (cost > most) {
            most = cost;
            level = i;
        }
    }
    return level;
}

/* The outermost cache that is clearly smaller than this. */
static double level_too_small(const struct model *model, double bytes)
{
    size_t level = 0;

    while (level + 1 < model->machine.levels &&
           1.2 * (double)model->machine.caches[level + 1].bytes < bytes)
        level++;
    return (double)model->machine.caches[level].bytes;
}

void curve_evidence(const struct model *model, const struct access_costs *costs,
                    const struct curve_point *points, struct access_evidence *evidence)
{
    size_t level = costly_level(model, costs, points, evidence_extent(evidence));

    evidence->visits = points[model->level_size[0]].miss_ratio.value;
    find_fall(model, points, evidence);
    evidence->level_bytes = (double)model->machine.caches[level].bytes;
    evidence->inner_bytes = (double)model->machine.caches[0].bytes;
    evidence->fall_bytes = level_too_small(model, evidence->need_bytes);
}
