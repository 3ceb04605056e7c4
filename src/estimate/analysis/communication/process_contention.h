/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What processes do to one line of memory that they share (docs/estimators.md, "Lines that
 * processes share"). No register of one process sees another's accesses. What is seen is which
 * bursts touched the line when: each change of hands between two of them is a transfer at least.
 * How often the line moved in between is modelled from how often each thread uses it.
 */
#ifndef REUSE_ANALYSIS_PROCESS_CONTENTION_H
#define REUSE_ANALYSIS_PROCESS_CONTENTION_H

#include "analysis/communication/contended_flows.h"
#include "analysis/communication/process_lines.h"

/* A line that so many instructions of so many threads use is told of by those that were seen first.
 */
enum { PROCESS_ACTS_MAX = 256 };

/* A thread at the line. */
struct process_actor {
    uint32_t process, thread_id;
    size_t uses;
    double visits;                /* in all */
    double loads, stores, app_ns; /* in the bin under way */
};

/* What it does there: one instruction, of one kind. */
struct process_act {
    uint32_t actor;
    uint32_t burst; /* one that it was seen in, index into analysis.bursts */
    bool store;
    uint16_t part;     /* as in struct process_use */
    uint16_t offset;   /* of the first byte in the line of the run's size */
    uint8_t width;     /* bytes */
    uint64_t ip, mask; /* bytes of the line of the run's size, all of its accesses */
    double weight;     /* in the bin under way */
};

enum { PROCESS_KINDS = 3 }; /* enum transfer_kind - TRANSFER_RAW */

struct process_contention {
    struct process_actor *actors;
    struct process_act *acts;
    size_t actor_count, act_count;
    struct scenarios *transfers; /* [source act][destination act][kind] */
};

/* Of the uses of one line, by time. */
void process_contention_find(const struct analysis *, const struct process_use *, size_t count,
                             struct process_contention *);
void process_contention_free(struct process_contention *);

const struct scenarios *process_contention_of(const struct process_contention *, size_t source,
                                              size_t destination, unsigned kind);
/* Whether the bytes of the two meet: see docs/estimators.md, "Communication". */
bool process_contention_is_true(const struct process_contention *, size_t source,
                                size_t destination, unsigned kind);

#endif
