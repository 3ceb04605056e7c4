/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which instructions of a burst made the loads that were timed (isa/line_times.h).
 *
 * Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_TIMED_LOADS_H
#define REUSE_SAMPLING_TIMED_LOADS_H

#include "isa/line_times.h"
#include "profile/format.h"
#include "sampling/burst.h"

/* What turns ticks into ns, and tells memory from caches: see line_times_of(). */
struct line_times_scale {
    double ns_per_tick, memory_ns;
};

/* first: the access of the burst from which on loads were timed. Fills out (LINE_TIMES_MAX of room)
 * and returns how many instructions it has. A load without an access in the burst is left out: its
 * instruction was not completed. */
uint32_t timed_loads_find(const struct line_times *, struct line_times_scale, const struct burst *,
                          uint32_t first, struct timed_loads *out);

#endif
