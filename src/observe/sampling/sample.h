/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a mean period to the next one: what every engine that samples does alike. Pure;
 * signal-safe.
 */
#ifndef REUSE_SAMPLING_SAMPLE_H
#define REUSE_SAMPLING_SAMPLE_H

#include <stdint.h>

#include "sampling/random.h"

/*
 * The period to the next sample, in the unit of the mean: uniform within a quarter of the mean
 * either way, so that no rhythm of the target is locked on to.
 */
uint64_t sample_period(struct random *, uint64_t mean);

/* What is waited for a first sample at least: accesses, or ns of a clock that repeats. */
enum { SAMPLE_FIRST_LEAST = 100000 };

/*
 * The period to a thread's first sample, in the unit of the mean (ns or accesses): uniform over one
 * mean, so that threads of any length are sampled in proportion to their time. What would come
 * before `least` (of a mean below four times that, a quarter) comes then, and stands for all of the
 * beginning: threads that end sooner are never sampled, all others with the right probability. Why
 * there is a least: a period lasts until the handler sets the next one, and no handler runs while
 * the kernel works for the thread: interrupts that come faster than a slow machine serves them
 * would leave that work no time at all.
 */
uint64_t sample_first_period(struct random *, uint64_t mean, uint64_t least);

#endif
