/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What hardware events counted of the traffic between levels (RECORD_COUNTER), to stand beside what
 * is predicted. Pure.
 */
#ifndef REUSE_POSTPROC_MEASURED_H
#define REUSE_POSTPROC_MEASURED_H

#include "estimate.h"
#include "machine/machine.h"
#include "profile/reader.h"

enum { MEASURED_TEXT = 384 };

struct measured {
    bool any;       /* the profiles hold an event for it */
    bool known;     /* and it can be relied on */
    double lines;   /* that came in, or were written back */
    double share;   /* of the time that the events were wanted, they were on a counter: the least */
    unsigned flags; /* enum counter_flags of what was summed */
    char text[MEASURED_TEXT]; /* the events; or, unless known, why not */
};

/* Of a level of the machine on which the profiles were taken, summed over them. */
void measured_of_level(const struct profile *const *profiles, size_t profile_count,
                       const struct machine *, size_t level, enum counter_kind, struct measured *);

/* What the events count beside the lines that loads and stores wait for; "" where there is nothing
 * to say. A constant. */
const char *measured_remark(unsigned flags);

/*
 * How a prediction and its measurement go together, in a line. conflicts: misses over those of a
 * fully associative cache, as the samples show them; NAN: not known.
 */
const char *measured_verdict(struct estimate predicted, double measured, unsigned flags,
                             double conflicts);

#endif
