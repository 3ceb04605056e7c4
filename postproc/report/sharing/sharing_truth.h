/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimated communication beside what the same run counted. */
#ifndef REUSE_POSTPROC_SHARING_TRUTH_H
#define REUSE_POSTPROC_SHARING_TRUTH_H

#include "report/model/communication_view.h"
#include "report/sections/sections.h"

/*
 * Adds sharing.truth.* (all, true, false: transfers counted, the program's and the run-time
 * library's; estimate: the same estimated, with its interval; matrix_error: L1 distance of the two
 * matrices of pairs of threads, each normalised to 1, so 0 to 2). Nothing where the engine did not
 * count beside its samples.
 */
void add_sharing_truth(struct model *, const struct communication_view *, struct document *,
                       struct section *);

#endif
