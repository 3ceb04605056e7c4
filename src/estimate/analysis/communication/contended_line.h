/* SPDX-License-Identifier: BSD-3-Clause */
/* One line in one bin of time, as threads were sampled to use it. */
#ifndef REUSE_ANALYSIS_CONTENDED_LINE_H
#define REUSE_ANALYSIS_CONTENDED_LINE_H

#include "analysis/communication/contention.h"
#include "analysis/curves/line_uses.h"

struct contended_thread {
    uint32_t thread_id;
    size_t first, count;  /* uses */
    double loads, stores; /* sums of weights */
};

struct contended_line {
    const struct line_use *uses; /* by thread */
    size_t count;
    struct contended_thread *threads;
    /* Per thread and ns: on average over the bin, and while the thread is at it. */
    struct line_user *average, *active;
    size_t thread_count;
    bool stores;
};

/* Room for n threads. Freed by contended_line_free(). */
void contended_line_create(struct contended_line *, size_t n);
void contended_line_free(struct contended_line *);

/* Describes the uses [0, n), all of one line and bin. */
void contended_line_describe(const struct analysis *, const struct line_uses *,
                             const struct line_use *uses, size_t n, struct contended_line *);

/* ns from the sample's access to another one of its thread, so many accesses later. */
double contended_gap_ns(const struct analysis *, const struct line_uses *,
                        const struct analysed_sample *, double accesses);

/* Whether the thread was seen to store to the line again within the window. */
bool contended_stores_again(const struct record_sample *);

#endif
