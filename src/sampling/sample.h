/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a window that has been filled to the sample's record, and from a mean period to the next
 * one: what every engine that samples does alike. Pure; signal-safe.
 */
#ifndef REUSE_SAMPLING_SAMPLE_H
#define REUSE_SAMPLING_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/format.h"
#include "sampling/random.h"
#include "sampling/window.h"

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

/* Fills what the window (after window_end()) tells: the access and its reuse times. */
void sample_from_window(struct record_sample *, const struct window *);

/* Whether the line, of the run's size, was used again in the window: nothing is left to watch. */
static inline bool sample_is_resolved(const struct record_sample *sample, uint32_t line_size)
{
    return sample->window_reuse[line_size_index(line_size)] != REUSE_TIME_NONE;
}

#endif
