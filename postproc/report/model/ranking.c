/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups with most misses. */
#include <stdlib.h>
#include <string.h>

#include "report/model/model.h"
#include "support/descending.h"

static double misses_of(const struct model *model, const struct ranked_group *group)
{
    size_t size = model->level_size[model_focus_level(model)];

    return group->accesses * group->points[size].miss_ratio.value;
}

/* Keeps the list in order of misses, at most `top` long. */
static void insert_ranked(const struct model *model, struct ranked_group *list, size_t *count,
                          size_t top, const struct ranked_group *candidate)
{
    double misses = misses_of(model, candidate);
    size_t at = *count;

    while (at > 0 && misses_of(model, &list[at - 1]) < misses)
        at--;
    if (at == top)
        return;
    if (*count < top)
        ++*count;
    memmove(&list[at + 1], &list[at], (*count - at - 1) * sizeof(*list));
    list[at] = *candidate;
}

/* Beyond this many rows' worth of candidates in vain, what is left is small. */
enum { CANDIDATES_PER_ROW = 8 };

/* The groups with most accesses, most first, as many as may be among those with most misses. */
static struct valued *choose(const struct grouping *grouping, size_t top, size_t *count)
{
    struct valued *order = allocate_zeroed(grouping->count + 1, sizeof(*order));

    for (uint32_t i = 0; i < grouping->count; i++)
        order[i] = (struct valued){i, grouping->accesses[i]};
    sort_descending(order, grouping->count);
    *count = 0;
    while (*count < grouping->count && *count < CANDIDATES_PER_ROW * top && order[*count].value > 0)
        ++*count;
    return order;
}

/* Ranks them by the values of their curves: intervals take far more time. */
static void rank(const struct model *model, const struct grouping *grouping,
                 const struct valued *order, size_t count, size_t top, struct ranking *ranking)
{
    struct subset *subsets = allocate_zeroed(count + 1, sizeof(*subsets));
    double *ratios = allocate_zeroed(count * model->size_count + 1, sizeof(*ratios));

    for (size_t i = 0; i < count; i++)
        subsets[i] = grouping_subset(grouping, order[i].number);
    if (count > 0)
        analysis_miss_ratios_of(model->analysis, subsets, count, model->sizes, model->size_count,
                                ratios);
    for (size_t i = 0; i < count; i++) {
        struct ranked_group candidate = {.group = order[i].number, .accesses = order[i].value};

        /* A group cannot have more misses than accesses. */
        if (ranking->count == top && order[i].value <= misses_of(model, &ranking->items[top - 1]))
            break;
        for (size_t k = 0; k < model->size_count; k++)
            candidate.points[k].miss_ratio.value = ratios[i * model->size_count + k];
        insert_ranked(model, ranking->items, &ranking->count, top, &candidate);
    }
    free(ratios);
    free(subsets);
}

const struct ranking *model_rank(struct model *model, struct grouping *grouping)
{
    size_t top = model->options->top < grouping->count ? model->options->top : grouping->count;
    struct ranking *ranking = &grouping->ranking;
    struct valued *order;
    size_t count;

    if (ranking->done)
        return ranking;
    ranking->done = true;
    ranking->items = allocate_zeroed(top, sizeof(*ranking->items));
    order = choose(grouping, top, &count);
    rank(model, grouping, order, count, top, ranking);
    free(order);
    for (size_t i = 0; i < ranking->count; i++) {
        struct ranked_group *item = &ranking->items[i];
        struct subset subset = grouping_subset(grouping, item->group);

        analysis_miss_ratio_curve(model->analysis, subset, model->sizes, model->size_count,
                                  item->points);
        model_shares_of_misses(model, subset, item->shares);
    }
    return ranking;
}
