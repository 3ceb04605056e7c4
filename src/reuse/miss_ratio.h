/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From reuse times to miss ratios of fully associative LRU caches: average eviction time (Hu et
 * al. 2016) = StatStack (Eklov and Hagersten 2010). Pure.
 */
#ifndef REUSE_REUSE_MISS_RATIO_H
#define REUSE_REUSE_MISS_RATIO_H

#include <stddef.h>

#include "reuse/survival.h"

/*
 * Average eviction time of a cache of `lines` lines: the T with  integral_0^T S(t) dt = lines.
 * INFINITY when the integral over the whole known curve stays below lines and the curve's plateau
 * is zero; else extended along the plateau.
 */
double eviction_time(const struct survival_curve *, double lines);

/* Expected stack distance (distinct lines) of a reuse time: integral_0^time S. */
double stack_distance_of(const struct survival_curve *, double time);

#endif
