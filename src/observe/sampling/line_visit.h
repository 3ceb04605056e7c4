/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a visit to a watched line does after the access that trapped: a visit is a burst of accesses
 * of one thread. Fed with the thread's accesses that follow the trap (of the interpreter, or as
 * they come in a simulation), some hundred; completes the record of the event. Pure; signal-safe.
 */
#ifndef REUSE_SAMPLING_LINE_VISIT_H
#define REUSE_SAMPLING_LINE_VISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "sampling/access_run.h"
#include "sampling/line_watch.h"
#include "sampling/watch_plan.h"

struct line_visit {
    uint64_t line;
    uint32_t line_size;
    uint64_t words[2]; /* watched; the second may be 0 */
    uint64_t read, written;
    bool stores;        /* has stored */
    bool reads_end[2];  /* the last read before any store touches the word */
    bool stores_end[2]; /* the last store does */
};

/* After an arrival that line_watch_trap() returned. */
void line_visit_begin(struct line_visit *, const struct line_arrival *, uint32_t line_size);
void line_visit_feed(struct line_visit *, const struct access *, size_t n);
/* Fills the event's masks and flags. */
void line_visit_end(const struct line_visit *, struct record_line_event *);

/* So far after a store of its own the thread's next one to the line is looked for: half a burst. */
enum { OWN_VISIT_ACCESSES = 2000 };

/*
 * The visit of a sampled store itself: what the thread did to the line before it, and when it
 * stores to the line again. Fed with the accesses after the sampled one.
 */
struct own_visit {
    uint64_t line;
    uint32_t line_size;
    uint64_t accessed, written; /* up to and including the sampled access; masks of the line */
    uint32_t examined;
    uint32_t next_store; /* REUSE_TIME_NONE: not yet */
};

/* Looks at the run's accesses up to the sample, not at those after it. */
void own_visit_begin(struct own_visit *, const struct access_run *);
/* True when the next store has been found. */
bool own_visit_feed(struct own_visit *, const struct access *, size_t n);
void own_visit_end(const struct own_visit *, struct record_sample *);

#endif
