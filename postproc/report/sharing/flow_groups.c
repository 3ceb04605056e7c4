/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/flow_groups.h"

#include <stdlib.h>

static int compare_groups(const void *left, const void *right)
{
    const struct flow_group *a = left, *b = right;
    double x = a->totals.of[MATRIX_ALL].value, y = b->totals.of[MATRIX_ALL].value;

    if (x != y)
        return x < y ? 1 : -1;
    return (a->group > b->group) - (a->group < b->group);
}

struct flow_group *flow_groups_sorted(const struct communication_view *view, const uint32_t *labels,
                                      size_t count)
{
    struct flow_totals *totals = allocate_zeroed(count, sizeof(*totals));
    struct flow_group *groups = allocate_zeroed(count, sizeof(*groups));

    flow_totals_of(view->communication, labels, count, totals);
    for (size_t g = 0; g < count; g++)
        groups[g] = (struct flow_group){(uint32_t)g, totals[g]};
    if (count > 0)
        qsort(groups, count, sizeof(*groups), compare_groups);
    free(totals);
    return groups;
}

size_t flow_groups_shown(const struct model *model, size_t count)
{
    bool all = model->options->format != FORMAT_TEXT;

    return all || count < model->options->top ? count : model->options->top;
}

bool flow_group_is_negligible(const struct model *model, double transfers, double all)
{
    bool brief = model->options->format == FORMAT_TEXT && !model->options->verbose;

    return !(transfers > 0) || (brief && transfers < 0.001 * all);
}

double program_transfers(const struct communication_view *view)
{
    return communication_total(view->communication, view->place, FLOW_PROGRAM).value;
}
