/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private-cache locality of each guest thread: exact stack distances and reuse times, for several
 * line sizes at once, counted by instruction and object. A consumer of the access stream.
 */
#ifndef REUSE_EXACT_LOCALITY_H
#define REUSE_EXACT_LOCALITY_H

#include <stddef.h>
#include <stdint.h>

#include "profile/histogram_bin.h"
#include "reuse/exact_counts.h"
#include "reuse/exact_dirty.h"
#include "stream.h"

extern const struct stream_consumer locality_consumer;
enum { LOCALITY_CONSUMER = 0 }; /* its place among the consumers */

/* Line sizes in bytes, at most EXACT_LINE_SIZES_MAX; before the guest starts. */
void locality_set_line_sizes(const uint32_t *line_sizes, unsigned count);
/* Only 1/n of the lines come in the stream; there is one line size then. */
void locality_set_rate(uint32_t n);
uint32_t locality_rate(void);

uint32_t locality_line_size(unsigned index);
unsigned locality_line_sizes(void);

/* Counts of one thread, or of all. distance bins are near and far together. */
struct locality_histograms {
    uint64_t accesses[EXACT_LINE_SIZES_MAX];
    uint64_t cold[EXACT_LINE_SIZES_MAX];
    uint64_t distance[EXACT_LINE_SIZES_MAX][HISTOGRAM_BIN_COUNT];
    uint64_t time[EXACT_LINE_SIZES_MAX][HISTOGRAM_BIN_COUNT];
    /* Distances of the uses whose line had been invalidated, at the first line size. */
    uint64_t invalidated[HISTOGRAM_BIN_COUNT];
    struct exact_dirty dirty[EXACT_LINE_SIZES_MAX]; /* all 0 when lines are sampled */
    uint64_t width[ACCESS_WIDTH_MAX + 1]; /* accesses by bytes; all 0 when lines are sampled */
    /* With a rate: sums over threads of the squares of standard errors times accesses; see
     * struct exact_rate_error. */
    double share_error2, lines_error2;
};

/* The thread enters a region of the API, or leaves the innermost one (0). Under its lock. */
void locality_region(void *state, uint32_t region);

/* Adds a live thread's histograms, and its counts if `counts` is not NULL. Under the thread's lock.
 */
void locality_add_thread(void *state, struct locality_histograms *, struct exact_counts *counts);

/* Adds those of all ended threads; counts may be NULL. */
void locality_add_ended(struct locality_histograms *, struct exact_counts *counts);

/* Adds all of `from`. */
void histograms_add(struct locality_histograms *into, const struct locality_histograms *from);

/* Adds what a live thread, or all ended ones, counted in split caches. */
struct partition_sums;
void locality_add_partitions(const void *state, struct partition_sums *);
void locality_add_ended_partitions(struct partition_sums *);

/* A live thread's stack at the first line size. */
const struct exact_stack *locality_stack(const void *state);

/* Bytes that the analysis of a live thread takes; accesses that could not be followed or counted.
 */
uint64_t locality_bytes(const void *state);
uint64_t locality_lost(const void *state);

/* Called by thread_ended, with the histograms of that thread alone. */
extern void (*locality_thread_done)(struct guest_thread *, const struct locality_histograms *);

void locality_after_fork(void);

#endif
