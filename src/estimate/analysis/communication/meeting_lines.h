/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines at which bursts of several threads of one process met (sampling/meetings.h), and for how
 * many such lines each stands. A line that threads use all the time is met by many bursts; of lines
 * that they seldom use few are met at all. How many is estimated from how often those that were met
 * were used again (docs/communication.md, "Lines that bursts meet at").
 */
#ifndef REUSE_ANALYSIS_MEETING_LINES_H
#define REUSE_ANALYSIS_MEETING_LINES_H

#include "analysis/communication/burst_contention.h"
#include "analysis/communication/contended_flows.h"

/* What one thread does at one line. */
struct meeting_party {
    uint32_t thread_id;
    uint32_t burst; /* its first one there, index into analysis.bursts */
    double bursts;  /* of the thread at the line, per window; those that are not told of included */
    /* One over the probability that a burst of the thread is at the line in a window, >= 1. */
    struct scenarios stands_for;
};

/* A line in one window of time, or in all of them if it is sure to be told of. */
struct meeting_line {
    size_t first, count; /* of its uses, by time */
    size_t first_party, party_count;
    double share; /* probability that lines of such ranks are told of */
    bool windowed;
};

/* How often the object that a line is part of changed hands between the bursts of two threads, in
 * the time of that line: no less often than that do they take turns at it. */
struct object_turns;

struct meeting_lines {
    struct burst_use *uses;
    size_t use_count;
    struct meeting_line *lines;
    size_t line_count;
    struct meeting_party *parties;
    size_t party_count;
    uint32_t *met;              /* by burst: lines at which it met others */
    struct object_turns *turns; /* sorted */
    size_t turn_count;
};

/* line_size: at least the run's. */
void meeting_lines_create(const struct analysis *, uint32_t line_size, struct meeting_lines *);
void meeting_lines_free(struct meeting_lines *);

/* How often bursts of the two threads followed one another at the object, in the time of the line.
 */
double meeting_lines_turns(const struct meeting_lines *, const struct meeting_line *,
                           uint32_t one_thread, uint32_t other_thread);

/* A thread that few bursts saw at the line. */
bool meeting_lines_seldom(const struct meeting_lines *, const struct meeting_line *,
                          uint32_t thread_id);

/* For how many flows one between two threads at the line stands. */
struct scenarios meeting_lines_stand_for(const struct meeting_lines *, const struct meeting_line *,
                                         uint32_t source_thread, uint32_t destination_thread);

#endif
