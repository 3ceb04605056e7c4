/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which data objects get stacks of their own (reuse/exact_partition.h), and what they counted, for
 * sector advice. --partitions N lets each thread follow N objects: first those that have as many
 * lines as the smallest sector of the A64FX, later those that most uses come late to; globals, heap
 * blocks and mappings, but not stacks nor unknown memory. The groups of --partition-groups are
 * followed from a thread's first access on.
 */
#ifndef REUSE_EXACT_PARTITIONS_H
#define REUSE_EXACT_PARTITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "locality.h"
#include "profile/writer.h"
#include "reuse/exact_partition.h"

/* Before the guest starts; 0, the default, follows none. */
void partitions_set_wanted(unsigned count);

/* Per thread; all of it under the thread's lock. */
struct partitions {
    struct exact_partitions stacks; /* objects by themselves */
    struct exact_partitions groups; /* in the order of the option */
    bool *sorted;                   /* by object: has joined the groups that it belongs to */
    uint32_t sorted_objects;        /* that `sorted` has room for */
    uint32_t *cold_lines;           /* by object */
    uint32_t objects;               /* that cold_lines has room for */
    uint32_t ripe;                  /* an object that reached the limit in this batch; 0 none */
    uint64_t next_election;         /* accesses of the thread at which objects are compared again */
};

/* Before a thread's first access. False: out of memory. */
bool partitions_start(struct partitions *);

/* A thread is about to use an object, maybe for the first time. */
void partitions_note_object(struct partitions *, uint32_t object);

/* A thread touched a line for the first time, by way of an object. */
void partitions_count_cold(struct partitions *, uint32_t object);

/* After a batch: chooses objects anew when it is time to. `counts` is what the thread counted. */
void partitions_choose(struct partitions *, const struct exact_stack *everything,
                       unsigned line_shift, const struct exact_counts *counts);

void partitions_destroy(struct partitions *);

/* Sums over threads. */
struct partition_sums;
struct partition_sums *partition_sums_create(void);
void partition_sums_destroy(struct partition_sums *);

/* Adds a thread that counted `counts`; the objects that it did not follow are none of its. */
void partition_sums_add(struct partition_sums *, const struct partitions *,
                        const struct exact_counts *counts);
void partition_sums_merge(struct partition_sums *into, const struct partition_sums *from);

/* As RECORD_HISTOGRAM of SCOPE_PARTITION and its rest, of everything and of each region; `counts`
 * is what all threads counted. */
void partition_sums_write(const struct partition_sums *, struct profile_writer *,
                          const struct exact_counts *counts, uint64_t now_ns);

#endif
