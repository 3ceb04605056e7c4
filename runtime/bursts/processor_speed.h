/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast the processor at hand is, for the model that stands for it (isa/pipeline.h). Measured
 * with a few thousand instructions whose time is known in cycles or bounded by one unit; tables of
 * processor models would not know the next one, nor what a hypervisor leaves of it. The fastest of
 * several rounds counts: whatever else happens on a machine makes them longer.
 *
 * Signal-safe.
 */
#ifndef REUSE_RUNTIME_PROCESSOR_SPEED_H
#define REUSE_RUNTIME_PROCESSOR_SPEED_H

#include <stddef.h>

#include "isa/pipeline.h"

/* Instructions and loads that begin in a cycle. About 15 us. Where the clock is too coarse to tell:
 * four and two. */
struct pipeline_width processor_width(void);

/* The same at this moment, in finer steps, and what a stored word takes: another hardware thread of
 * the core, of this machine or of another on the same host, may take half of it for seconds. About
 * 4 us. What the clock is too coarse to tell is taken from `width`. */
struct pipeline_pace processor_pace(struct pipeline_width width);

/* What branches, stores and lines of memory cost, and what one line of memory takes, ns; 0: the
 * clock is too coarse. Costs that it is too coarse for, or whose measurement was interrupted each
 * time, are the usual ones. */
struct processor_costs {
    struct pipeline_costs costs;
    double memory_ns;
};

/* Some tens of microseconds. memory: PROCESSOR_PAGES pages of our own that are resident; they are
 * flushed from the caches. Reads the processor's counter (own/clock.h). */
enum { PROCESSOR_PAGES = 16, PROCESSOR_PAGE = 4096 };
struct processor_costs processor_costs(const unsigned char *memory);

/* Cycles per nanosecond at this moment, of additions that wait for each other; 0: the clock is too
 * coarse. About 1.5 us. */
double processor_cycles_per_ns(void);

#endif
