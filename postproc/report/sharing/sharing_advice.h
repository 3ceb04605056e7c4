/* SPDX-License-Identifier: BSD-3-Clause */
/* What the section on communication says of false sharing, and what it shares with its advice. */
#ifndef REUSE_POSTPROC_SHARING_ADVICE_H
#define REUSE_POSTPROC_SHARING_ADVICE_H

#include "document/document.h"
#include "report/model/communication_view.h"
#include "report/model/flow_totals.h"

/* Line sizes that machines of today have; advice for one can fail on another. */
enum { USUAL_LINE_SIZES = 3 };
extern const uint32_t usual_line_sizes[USUAL_LINE_SIZES];

struct cell flow_count_cell(const struct flow_totals *, enum matrix_kind);

/* A verdict, and what to part if that is worth it. */
void add_sharing_advice(struct model *, struct communication_view *, struct document *,
                        struct section *);

/* One fact for the summary, if threads share anything. */
void add_sharing_fact(struct model *, struct document *, struct section *);

#endif
