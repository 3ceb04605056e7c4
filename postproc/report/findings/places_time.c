/* SPDX-License-Identifier: BSD-3-Clause */
/* What part of the CPU time each place may take, with all other accesses beside them, and what is
 * concluded from that. */
#include <math.h>
#include <stdlib.h>

#include "report/findings/curve_evidence.h"
#include "report/findings/line_order.h"
#include "report/findings/loop_accesses.h"
#include "report/findings/modelled_pace.h"
#include "report/findings/places_internal.h"
#include "report/findings/resampled.h"

/* What the place's evidence carries, from the runs that resampling bursts makes. points: its curve
 * at the model's sizes. */
static void judge(struct search *search, uint32_t group, const struct curve_point *points,
                  struct access_place *place)
{
    struct model *model = search->model;
    uint32_t count = analysis_resampled_count(model->analysis);
    struct access_evidence *resampled = allocate_zeroed(count + 1, sizeof(*resampled));
    late_use_list late = {0};
    bool *elsewhere;
    struct resampled_place of = {
        .all = grouping_subset(&search->all, group), .points = points, .late = &late};
    uint32_t *members;

    late_uses_of(model, &search->late, group, &late);
    elsewhere = allocate_zeroed(late.count + 1, sizeof(*elsewhere));
    for (size_t i = 0; i < late.count; i++) {
        struct code_line line = late_use_line(model, &late.items[i]);

        elsewhere[i] = places_is_elsewhere(search, group, &line);
    }
    of.elsewhere = elsewhere;
    of.loop = loop_accesses_of(model, of.all, &members);
    resample_evidence(model, search->costs, &of, &place->evidence, resampled);
    place->verdict = verdict_of(&place->evidence, resampled, count);
    free(members);
    free(elsewhere);
    free(late.items);
    free(resampled);
}

/* Everything that the report is about, listed; the caller frees the list. */
static struct subset list_all(const struct model *model, uint32_t **list)
{
    struct subset all = model_whole(model);
    uint32_t *members = *list = allocate_zeroed(model->observations + 1, sizeof(*members));

    for (size_t i = 0; i < model->observations; i++)
        if (model->region == NULL || model->region[i] == 0)
            members[all.member_count++] = (uint32_t)i;
    all.members = members;
    return all;
}

/* ns that misses add to an access, whatever it is: lines that follow each other, as far as that is
 * known of all of them together, cost less than others. */
static struct estimate cost_of_whole(const struct search *search)
{
    struct model *model = search->model;
    struct estimate in_order, scattered;
    double visits = model->whole[model->level_size[0]].miss_ratio.value, width = 0, part = 0;
    struct line_reach reach = {.waited = 1};

    if (!model->exact) {
        uint32_t *members = NULL;
        struct subset all = list_all(model, &members);

        part = line_order_of(model, all);
        reach.waited = modelled_waiting(model, all);
        free(members);
    }
    scattered = access_place_cost(model, search->costs, model->whole, reach);
    reach.in_order = true;
    in_order = access_place_cost(model, search->costs, model->whole, reach);
    for (size_t i = 0; i < search->candidates.count; i++)
        if (search->candidates.items[i].lines == 0)
            width += search->candidates.items[i].width_sum / fmax(1, model->accesses.value);
    part = part > 0 ? line_order_scattered(part) : !places_look_in_order(search, 0, width, visits);
    return (struct estimate){part * scattered.value + (1 - part) * in_order.value,
                             part * scattered.lo + (1 - part) * in_order.lo,
                             part * scattered.hi + (1 - part) * in_order.hi};
}

/* What all that was not examined costs: the misses of the whole less those of the places. */
static struct estimate cost_of_rest(const struct search *search, const struct access_places *places,
                                    const struct time_part *parts)
{
    const struct model *model = search->model;
    double accesses = model->accesses.value, known = 0, all;
    struct estimate whole = cost_of_whole(search);

    for (size_t i = 0; i < places->items.count; i++) {
        known += places->items.items[i].accesses * parts[i].cost_ns.value;
        accesses -= places->items.items[i].accesses;
    }
    all = model->accesses.value;
    if (!(accesses > 0.001 * all))
        return (struct estimate){0, 0, 0};
    return (struct estimate){fmax(0, all * whole.value - known) / accesses, 0,
                             fmax(0, all * whole.hi - known) / accesses};
}

static enum time_kind kind_of(const struct access_evidence *evidence)
{
    if (evidence_is_crowded(evidence))
        return TIME_CROWDED;
    return evidence_is_in_order(evidence) ? TIME_IN_ORDER : TIME_SCATTERED;
}

void places_find_shares(struct search *search, const struct valued *chosen, struct time_part *parts,
                        const struct curve_point *curves, struct access_places *places)
{
    struct model *model = search->model;
    size_t count = places->items.count;
    uint32_t *part_of = allocate_zeroed(search->candidates.count, sizeof(*part_of));
    uint32_t *labels = allocate_zeroed(model->observations, sizeof(*labels));

    for (size_t g = 0; g < search->candidates.count; g++)
        part_of[g] = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        part_of[chosen[i].number] = (uint32_t)i;
    for (size_t i = 0; i < count; i++)
        parts[i].kind = kind_of(&places->items.items[i].evidence);
    /* Of many places: as cheap as if they were. */
    parts[count].kind = TIME_IN_ORDER;
    parts[count].cost_ns = cost_of_rest(search, places, parts);
    for (size_t i = 0; i < model->observations; i++)
        labels[i] = search->all.labels[i] == GROUP_NONE ? (uint32_t)GROUP_NONE
                                                        : part_of[search->all.labels[i]];
    places->time = burst_time_shares(model, labels, parts, count + 1, search->costs->hit_ns, false,
                                     search->contended);
    for (size_t i = 0; i < count; i++) {
        places->items.items[i].evidence.time = parts[i].share;
        places->items.items[i].evidence.bursts =
            model->exact ? (size_t)EVIDENCE_BURSTS_MIN : parts[i].bursts;
        places->items.items[i].verdict = verdict_of(&places->items.items[i].evidence, NULL, 0);
        if (!model->exact && parts[i].share.hi >= FINDING_TIME_MIN)
            judge(search, chosen[i].number, curves + i * MODEL_SIZES_MAX, &places->items.items[i]);
    }
    free(labels);
    free(part_of);
}
