/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank that is apart does otherwise than a typical one: data objects and source lines. */
#ifndef REUSE_POSTPROC_JOB_OUTLIER_CAUSES_H
#define REUSE_POSTPROC_JOB_OUTLIER_CAUSES_H

#include "report/job/rank_figures.h"

/*
 * "table (heap) 12.3 M L2 misses, rank 3 has 0; ..." for ranks of the job, or that nothing is
 * shown to differ: objects and lines with a difference whose interval does not hold 0, as --diff
 * tells them, at most two each. The caller frees it; NULL if a file cannot be read.
 */
char *outlier_causes(const struct model *, const struct job_files *,
                     const struct rank_figures *typical, const struct rank_figures *apart);

#endif
