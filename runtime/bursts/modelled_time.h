/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a burst would take a modelled processor (isa/pipeline.h): its clocks are noted among the
 * burst's variables, for loops in which nothing else says how fast they are
 * (docs/measuring-the-rate.md). To tell the model all costs three times what it costs to interpret;
 * so a part of the burst is timed, and what comes before only makes lines and branches known.
 *
 * Signal-safe; called from the clock's handler.
 */
#ifndef REUSE_RUNTIME_MODELLED_TIME_H
#define REUSE_RUNTIME_MODELLED_TIME_H

#include "profile/format.h"

struct scratch;

enum { MODELLED_TIME_VARIABLES = 8 };

/* As rate_follow_begin(), rate_follow() and rate_follow_end(), which call them. */
void modelled_time_follow_begin(struct scratch *);
void modelled_time_follow(struct scratch *);
void modelled_time_follow_end(struct scratch *);

/* What came of it: 0, if too little was timed, or MODELLED_TIME_VARIABLES. */
unsigned modelled_time_list(const struct scratch *, struct progress_variable *);

#endif
