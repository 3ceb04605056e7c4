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

/*
 * The period to a thread's first sample, in the unit of the mean (ns or accesses): anywhere in a
 * mean, so that threads shorter than that are sampled in proportion to their time, but not before
 * 100000 (a quarter of a small mean). A period lasts until the handler sets the next one, and no
 * handler runs while the kernel works for the thread: interrupts that come faster than a slow
 * machine serves them would leave that work no time at all.
 */
uint64_t sample_first_period(struct random *, uint64_t mean);

#endif
