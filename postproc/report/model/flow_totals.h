/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers of groups of flows, by kind and by true or false sharing. */
#ifndef REUSE_POSTPROC_FLOW_TOTALS_H
#define REUSE_POSTPROC_FLOW_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/communication/communication.h"
#include "report/options.h"

struct flow_totals {
    struct estimate of[MATRIX_KINDS];
};

/* labels: the group of each flow; values of group_count or more: in none. */
void flow_totals_of(const struct communication *, const uint32_t *labels, size_t group_count,
                    struct flow_totals *);

#endif
