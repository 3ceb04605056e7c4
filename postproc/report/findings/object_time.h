/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares of the CPU time by data object, as its accesses' costs are modelled (burst_time.h). */
#ifndef REUSE_POSTPROC_OBJECT_TIME_H
#define REUSE_POSTPROC_OBJECT_TIME_H

#include "report/model/model.h"

/* One per item of the ranking of objects, which must be labelled; hits and misses together. The
 * caller frees it. NULL of exact profiles, whose time is not known. */
struct estimate *object_time_of_ranking(struct model *, const struct ranking *);

#endif
