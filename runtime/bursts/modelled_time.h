/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a burst would take a modelled processor (isa/pipeline.h): its clocks are noted among the
 * burst's variables, for loops in which nothing else says how fast they are
 * (docs/measuring-the-rate.md). Its caches and branches are unknown at first, so that the first
 * accesses are left out.
 *
 * Signal-safe; called from the clock's handler.
 */
#ifndef REUSE_RUNTIME_MODELLED_TIME_H
#define REUSE_RUNTIME_MODELLED_TIME_H

#include "profile/format.h"

struct scratch;

enum { MODELLED_TIME_VARIABLES = 2 };

/* Before the burst's first access; after each batch of accesses. */
void modelled_time_begin(struct scratch *);
void modelled_time_follow(struct scratch *);

/* What came of it: 0, if too little was modelled, or MODELLED_TIME_VARIABLES. */
unsigned modelled_time_list(const struct scratch *, struct progress_variable *);

#endif
