/* SPDX-License-Identifier: BSD-3-Clause */
/* What a miss-ratio curve at the model's sizes says of the accesses that it is of. */
#ifndef REUSE_POSTPROC_CURVE_EVIDENCE_H
#define REUSE_POSTPROC_CURVE_EVIDENCE_H

#include "report/findings/access_costs.h"
#include "report/findings/finding.h"
#include "report/model/model.h"

/* ns that misses add to an access, of a curve at the model's sizes. */
struct estimate access_place_cost(const struct model *, const struct access_costs *,
                                  const struct curve_point *points, struct line_reach);

/* Sets visits, need_bytes, sharpness and the bytes of levels. */
void curve_evidence(const struct model *, const struct access_costs *,
                    const struct curve_point *points, struct access_evidence *);

#endif
