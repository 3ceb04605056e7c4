/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the modelled processor (isa/pipeline.h) says of the code of each burst.
 *
 * How long it takes if all lines are in the first cache: what is left of the time that it took,
 * where that was measured, it waited.
 *
 * And how much of the second cache's latency it waits for: next to none where addresses do not
 * depend on what was loaded before, for a processor goes on; all of it from node to node. What is
 * farther away is taken to be waited for in full: beside the latency, access in no order or by
 * large steps pays for looking up pages there. (A loop over 64 MiB by steps of 256 KiB, whose
 * addresses depend on nothing, took 15 ns an access that was served by the third cache.)
 */
#ifndef REUSE_POSTPROC_MODELLED_PACE_H
#define REUSE_POSTPROC_MODELLED_PACE_H

#include "report/model/model.h"

/* Of the observation's burst, with all lines in the first cache: ns per access; 0: not known. */
double modelled_held_ns(const struct model *, size_t observation);

/* Part of the second cache's latency that is waited for, 0 to 1: the mean of the subset's accesses,
 * 1 where no burst tells. The subset lists its members. */
double modelled_waiting(const struct model *, struct subset);

/* Of all bursts of the model: called when it is made, and when it is freed. */
void modelled_paces_find(struct model *);
void modelled_paces_free(struct model *);

#endif
