/* SPDX-License-Identifier: BSD-3-Clause */
/* The evidence on one place in the runs that resampling whole bursts makes of this one. */
#ifndef REUSE_POSTPROC_RESAMPLED_H
#define REUSE_POSTPROC_RESAMPLED_H

#include "report/findings/access_costs.h"
#include "report/findings/finding.h"
#include "report/model/last_uses.h"

struct resampled_place {
    struct subset all;                /* the place's accesses */
    struct subset loop;               /* loop_accesses_of() them */
    const struct curve_point *points; /* their curve at the model's sizes */
    const late_use_list *late;        /* of the place */
    const bool *elsewhere;            /* of each late use: it is in another loop */
};

/*
 * Fills in evidence[analysis_resampled_count()] from the place's own, of which all else is kept.
 * Sets independent_bursts and independent_reuses of the place's own: so many of equal weight would
 * tell as much (Kish 1965).
 */
void resample_evidence(struct model *, const struct access_costs *, const struct resampled_place *,
                       struct access_evidence *own, struct access_evidence *evidence);

#endif
