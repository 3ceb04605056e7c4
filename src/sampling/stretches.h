/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stretches of time in which a program makes visits of a loop, or accesses, and what they say of
 * its pace.
 *
 * A stretch begins when our handler ends and takes too long by its loss: what the program loses on
 * caches and predictors that the handler left cold, and what a signal costs beside what it was
 * calibrated to; below 0 where it has become cheaper. All stretches have it alike, whatever their
 * length, so what a long one has more than a short one is free of it.
 *
 * Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_STRETCHES_H
#define REUSE_SAMPLING_STRETCHES_H

#include <stdbool.h>

struct stretch {
    double visits, ns;
};

/* ns that a visit takes, from what `lengthy` has more; <= 0 if that is nothing. */
double stretches_ns_per_visit(struct stretch brief, struct stretch lengthy);

/*
 * True where a stretch is as long as its visits make it at that pace, if it ran up to `slower`
 * times as slow (>= 1) or `faster` times as fast (>= 1), give or take slack_ns.
 */
bool stretch_is_plausible(struct stretch, double ns_per_visit, double slower, double faster,
                          double slack_ns);

/* What each of a pair lost, ns. Where the long one took no longer, visits take no time. */
double stretch_loss(struct stretch brief, struct stretch lengthy);

#endif
