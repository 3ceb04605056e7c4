/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What threads do to one line, as bursts tell that touched it: threads of several processes that
 * share it, or of one process where no register watches what they store (docs/communication.md,
 * "Lines that bursts meet at"). What is seen is which bursts touched the line when: each change of
 * hands between two of them is a transfer at least. How often the line moved in between is modelled
 * from how often each thread uses it.
 */
#ifndef REUSE_ANALYSIS_BURST_CONTENTION_H
#define REUSE_ANALYSIS_BURST_CONTENTION_H

#include "analysis/communication/burst_use.h"
#include "analysis/communication/contended_flows.h"

/* A line that so many instructions of so many threads use is told of by those that were seen first.
 */
enum { BURST_ACTS_MAX = 256 };

/* A thread at the line. */
struct burst_actor {
    uint32_t process, thread_id;
    uint64_t began, ended; /* the thread, ns; UINT64_MAX: at the end of the run, or not known */
    size_t uses;
    double visits;     /* in all */
    double at_line_ns; /* CPU time that its bursts at the line stand for, in all */
    const struct record_burst *first, *last; /* of these bursts, in time */
    double loads, stores, app_ns;            /* in the bin under way */
    double stays; /* likewise: times that it comes to the line, for a burst or longer */
};

/* What it does there: one instruction, of one kind. */
struct burst_act {
    uint32_t actor;
    uint32_t burst; /* one that it was seen in, index into analysis.bursts */
    bool store;
    uint16_t part;     /* as in struct burst_use */
    uint16_t offset;   /* of the first byte in the line of the run's size */
    uint8_t width;     /* bytes */
    uint64_t ip, mask; /* bytes of the line of the run's size, all of its accesses */
    double weight;     /* in the bin under way */
};

enum { BURST_KINDS = 3 }; /* enum transfer_kind - TRANSFER_RAW */

struct burst_contention {
    struct burst_actor *actors;
    struct burst_act *acts;
    size_t actor_count, act_count;
    struct scenarios *transfers; /* [source act][destination act][kind] */
};

/* Whose transfers are sought: threads of one process are watched by registers, where there are. */
enum burst_parties { BETWEEN_PROCESSES, BETWEEN_THREADS };

/* Of the uses of one line, by time. */
void burst_contention_find(const struct analysis *, enum burst_parties, const struct burst_use *,
                           size_t count, struct burst_contention *);
void burst_contention_free(struct burst_contention *);

const struct scenarios *burst_contention_of(const struct burst_contention *, size_t source,
                                            size_t destination, unsigned kind);
/* An act as an end of a flow, without its calling context. */
struct flow_end burst_contention_end(const struct analysis *, const struct burst_contention *,
                                     const struct burst_act *);
/* Whether the bytes of the two meet: see docs/communication.md, "Communication". */
bool burst_contention_is_true(const struct burst_contention *, size_t source, size_t destination,
                              unsigned kind);

#endif
