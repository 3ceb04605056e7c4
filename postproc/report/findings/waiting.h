/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of the second cache's latency code waits for: next to none where addresses do not depend
 * on what was loaded before, for a processor goes on; all of it from node to node. As the modelled
 * processor saw it (isa/pipeline.h): by how much its clock is later if all new lines come from the
 * second cache.
 *
 * What is farther away is taken to be waited for in full, whatever the model says: beside the
 * latency, access in no order or by large steps pays for looking up pages there. (A loop over
 * 64 MiB by steps of 256 KiB, whose addresses depend on nothing, took 15 ns an access that was
 * served by the third cache.)
 */
#ifndef REUSE_POSTPROC_WAITING_H
#define REUSE_POSTPROC_WAITING_H

#include "report/model/model.h"

/* 0 to 1, the mean of the subset's accesses; 1 where no burst tells. The subset lists its members.
 */
double waiting_of(struct model *, struct subset);

void waiting_free(struct model *);

#endif
