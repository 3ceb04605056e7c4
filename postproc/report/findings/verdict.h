/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a pattern its evidence carries: the one place that decides between "is", "probably
 * is" and "is one of two". Pure.
 *
 * The unit is the burst, as everywhere: what a burst sees thousands of times is one observation. A
 * pattern is certain when three things hold:
 * - so many bursts witnessed it that, at 95 %, it is what happens for most of the time that its
 *   accesses take (Wilson's bound of a share);
 * - of the runs that resampling bursts makes, 95 % show the same pattern, so that the margin to the
 *   second best is one that the run's own scatter carries;
 * - where late reuses decide, there are enough to tell loops from chance (5 % of wrong answers).
 */
#ifndef REUSE_POSTPROC_VERDICT_H
#define REUSE_POSTPROC_VERDICT_H

#include "report/findings/finding.h"

enum belief {
    BELIEF_EITHER, /* this pattern or another one */
    BELIEF_LIKELY, /* no other fits, on little evidence */
    BELIEF_CERTAIN,
};
extern const char *const belief_names[];

struct verdict {
    enum pattern pattern;
    enum pattern other; /* BELIEF_EITHER: what else it may be; PATTERN_NONE: nothing to cure */
    enum belief belief;
    double agreement; /* part of the resampled runs that show the pattern */
    double longer;    /* times the length of the run that would make it certain; 1: it is */
};

/* resampled: the same evidence in each of `count` resampled runs; 0: accesses were counted. */
struct verdict verdict_of(const struct access_evidence *, const struct access_evidence *resampled,
                          size_t count);

/* Lower bound, at 95 %, of a share of which `part` is seen in n independent observations: Wilson
 * (1927). */
double share_at_least(double part, double n);

#endif
