/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communication on simulated hardware: two registers that all threads share, driven by the policy
 * and the bulletin board of the runtime (sampling/line_watch.h, sampling/board.h).
 *
 * The order of different threads' accesses matters here, and batches come too late for it. So
 * threads call in with every access, and a copy of the thread's PMU runs ahead of the processor's:
 * it finds the accesses that begin bursts, in order. When the processor comes to the end of such a
 * burst, whose first access is a sample, it asks here what became of that. Time is CLOCK_MONOTONIC:
 * it is the same for all threads.
 *
 * A struct lines_thread is used by its guest thread, or when that cannot run; what threads share
 * has a lock of its own.
 */
#ifndef REUSE_EXACT_SIMULATE_LINES_H
#define REUSE_EXACT_SIMULATE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/line_visit.h"
#include "sampling/line_watch.h"
#include "simulate/pmu.h"
#include "simulate/processor.h"
#include "simulate/recorder.h"
#include "stream.h"

enum {
    LINES_VISITS_OPEN = 4, /* visits of a thread that are followed at once */
    LINES_OFFERS_PENDING =
        64, /* sampled accesses that the processor has not come to; power of two */
};

/* An arrival whose visit is being followed. */
struct line_visit_open {
    struct line_visit visit;
    struct line_arrival arrival;
    size_t next; /* entry of the batch to look at next */
    uint32_t seen;
};

/* A sampled access that was offered: what is to be added to its record. */
struct line_offered {
    uint64_t sample_id;
    uint16_t flags;
    uint16_t cpu;
    uint64_t time_ns; /* when the access was made: batches are looked at later */
    uint64_t accessed, written;
};

struct lines_thread {
    const struct processor *processor;
    const struct guest_thread *guest;
    const struct stream_access *last; /* that called in */
    struct simulated_pmu pmu;         /* ahead of the processor's by what waits in the batch */
    struct random pmu_random;
    uint64_t expirations; /* of it */
    uint32_t burst_left;  /* accesses until the burst that it began is complete */
    struct random random; /* for the policy */
    unsigned visits_open; /* the first so many of: */
    struct line_visit_open visits[LINES_VISITS_OPEN];
    struct line_offered offered[LINES_OFFERS_PENDING]; /* by number of the sample */
};

/* Before the guest starts, once. */
void lines_start(uint32_t line_size);

/* The arguments must outlive it. */
void lines_thread_begin(struct lines_thread *, const struct processor *,
                        const struct guest_thread *, uint64_t seed);

/* The thread makes an access of `width` bytes; other threads exist. The entry is not yet counted in
 * guest->next. */
void lines_access(struct lines_thread *, const struct stream_access *, unsigned width);

/* The batch in which it called in, before the next one begins. */
void lines_batch(struct lines_thread *, const struct stream_access *, size_t count);

/* Adds to a sample's record what became of it here. */
void lines_complete_sample(const struct lines_thread *, struct record_sample *);

/* It makes no more accesses. */
void lines_thread_end(struct lines_thread *);

/* Moves all records since the last time behind those in `into`. finishing: ends what is watched. */
void lines_collect(struct recorder *into, bool finishing);

/* In a forked child, on its only thread. */
void lines_after_fork(void);

#endif
