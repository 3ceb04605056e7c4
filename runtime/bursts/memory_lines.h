/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of the program's lines are in memory, and how long those take on this machine: while a part
 * of a burst is told to the modelled processor, the loads of lines that were not used lately are
 * timed (isa/line_times.h). How many come from memory is noted with the burst; how long they take,
 * the model is told (modelled_time.h).
 *
 * Signal-safe; called from the clock's handler.
 */
#ifndef REUSE_RUNTIME_MEMORY_LINES_H
#define REUSE_RUNTIME_MEMORY_LINES_H

#include <stdint.h>

#include "sampling/timed_loads.h"

struct interpreter;

/* Of a burst. */
struct memory_lines {
    struct line_times times;
    uint64_t begun_ns, begun_ticks; /* the clock that they are timed by; 0: nothing is timed */
    uint32_t first;                 /* access of the burst, from which on */
    struct line_times_scale scale;
    struct line_times_sum sum;
};

/* None is known yet. */
void memory_lines_clear(struct memory_lines *);

/* From here on, `first` accesses into the burst, to the end loads are timed; the pipeline is told
 * of them. Not in a run that is recorded or repeated, nor where the processor's clock must not be
 * read.
 */
void memory_lines_begin(struct memory_lines *, struct interpreter *, const struct pipeline *,
                        uint32_t first);

/* memory_ns: what a line of memory takes, about; 0: not known. Nothing, if nothing is timed. */
void memory_lines_end(struct memory_lines *, struct interpreter *, double memory_ns);

/* Writes which instructions of the burst made them; call when the burst is written. */
void memory_lines_write(const struct memory_lines *, const struct burst *, uint64_t burst_id);

/* What a line of memory takes longer than one in the first cache, in the mean of the process so
 * far: ns, and of how many lines. */
struct memory_latency {
    double ns;
    uint64_t lines;
};
struct memory_latency memory_lines_latency(void);

#endif
