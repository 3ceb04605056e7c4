/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines at which bursts of several threads meet. Each burst notes the lines that it uses most
 * (burst_lines.h); where another thread was seen at one of them lately, and one of the two stores
 * to it, the use is told of, and the other's last use before it, if it was not yet. That shows
 * which lines threads share where no register can catch their stores.
 *
 * Bounded: a table of so many lines; the oldest goes, except that lines which several threads use
 * stay longer. Used by one burst at a time. Pure; signal-safe; no allocation.
 */
#ifndef REUSE_SAMPLING_MEETINGS_H
#define REUSE_SAMPLING_MEETINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/format.h"
#include "sampling/burst_lines.h"

/* A use takes some 130 bytes in the profile, a burst some 300: this at most trebles it. */
enum { MEETINGS_TOLD_MAX = 8 };

/* The lines of some 60 bursts, half a second of two threads or more. All of them take half a
 * megabyte, each page of which is a page fault when it is first used. */
enum { MEETING_LINES = 4096, MEETING_PLACES = 4096 };

struct meeting_line {
    uint64_t line;
    uint64_t time_ns;   /* of the last use; 0: free */
    uint64_t other_ns;  /* of the last one by a thread other than that one; 0: none */
    double share;       /* probability that all its uses so far were noted */
    uint32_t thread_id; /* of the last use */
    uint16_t next;      /* of the same place, + 1 */
    bool written;       /* by any of them */
    bool told;          /* the last use was */
    struct record_shared_use last;
};

/* Empty when zeroed. */
struct meetings {
    uint32_t used, hand;             /* lines in use; the next one to be given up */
    uint16_t places[MEETING_PLACES]; /* by hash: first line, + 1 */
    struct meeting_line lines[MEETING_LINES];
};

struct meetings_told {
    unsigned count;
    struct record_shared_use uses[2 * MEETINGS_TOLD_MAX];
};

/*
 * Notes what the burst of a thread does to its lines. told gets what is to be told of: with
 * burst_id, share and earlier filled in.
 */
void meetings_note(struct meetings *, const struct burst_lines *, uint32_t thread_id,
                   uint64_t burst_id, uint64_t now_ns, struct meetings_told *told);

#endif
