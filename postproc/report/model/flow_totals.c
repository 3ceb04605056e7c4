/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/flow_totals.h"

#include <stdlib.h>

#include "support/memory.h"

static bool is_of_kind(const struct flow *flow, enum matrix_kind kind)
{
    switch (kind) {
    case MATRIX_TRUE:
        return flow->true_sharing;
    case MATRIX_FALSE:
        return !flow->true_sharing;
    case MATRIX_RAW:
        return flow->kind == TRANSFER_RAW;
    case MATRIX_WAR:
        return flow->kind == TRANSFER_WAR;
    case MATRIX_WAW:
        return flow->kind == TRANSFER_WAW;
    default:
        return true;
    }
}

void flow_totals_of(const struct communication *communication, const uint32_t *labels,
                    size_t group_count, struct flow_totals *totals)
{
    size_t flows = communication_flow_count(communication);
    uint32_t *of_kind = allocate_zeroed(flows, sizeof(*of_kind));
    struct estimate *sums = allocate_zeroed(group_count, sizeof(*sums));

    for (size_t kind = 0; kind < MATRIX_KINDS; kind++) {
        for (size_t i = 0; i < flows; i++)
            of_kind[i] = is_of_kind(communication_flow(communication, i), (enum matrix_kind)kind)
                             ? labels[i]
                             : UINT32_MAX;
        communication_totals(communication, of_kind, group_count, sums);
        for (size_t g = 0; g < group_count; g++)
            totals[g].of[kind] = sums[g];
    }
    free(sums);
    free(of_kind);
}
