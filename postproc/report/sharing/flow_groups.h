/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows of one thing taken together, an object or a pair of lines, and which of them a table shows.
 */
#ifndef REUSE_POSTPROC_SHARING_FLOW_GROUPS_H
#define REUSE_POSTPROC_SHARING_FLOW_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/communication_view.h"
#include "report/model/flow_totals.h"

/* A group with its totals, in transfers. */
struct flow_group {
    uint32_t group; /* its label */
    struct flow_totals totals;
};

/*
 * Groups 0 .. count-1, those with most transfers first; of as many the smaller label. labels: of
 * each flow of the view; GROUP_NONE: in none. The caller frees the result.
 */
struct flow_group *flow_groups_sorted(const struct communication_view *, const uint32_t *labels,
                                      size_t count);

/* Of `count` groups, how many a table may have: in text as many as the options want rows. */
size_t flow_groups_shown(const struct model *, size_t count);

/* Whether so many transfers, of `all`, are none, or, in text, of which nobody wants to read. */
bool flow_group_is_negligible(const struct model *, double transfers, double all);

/* Transfers of the program's own code in all. */
double program_transfers(const struct communication_view *);

#endif
