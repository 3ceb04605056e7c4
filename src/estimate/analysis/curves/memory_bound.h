/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the memory of the processes says of caches: between two uses of a line lie no more lines
 * than there are, so a cache that holds them all misses first uses alone, and a line has one of
 * these in each thread. For sampled profiles; docs/estimators.md, section 8.
 */
#ifndef REUSE_ANALYSIS_MEMORY_BOUND_H
#define REUSE_ANALYSIS_MEMORY_BOUND_H

#include "analysis/internal.h"

/* INFINITY in both where a profile does not know its memory. */
struct memory_bound memory_bound_of(const struct analysis *);

/* Part of the reuses farther than `from` lines, of which no more is known, that are not closer than
 * `lines`; from < lines. As many in each octave up to the bound: 1 without one. */
double memory_bound_farther(const struct memory_bound *, double from, double lines);

/* Takes from the shares of `accesses` in a cache of so many lines what exceeds the bound. */
void memory_bound_apply(const struct memory_bound *, double lines, double accesses,
                        struct miss_shares *);

#endif
