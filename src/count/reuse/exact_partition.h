/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact stack distances in a cache that is split in two: one data object, or a group of them, in a
 * partition of its own, everything else in the rest (the sector cache of the A64FX; Breiter, LMU
 * Munich 2022).
 *
 * Each candidate has two LRU stacks, of its own lines and of all others. The distances hold for any
 * division of the ways: a use of a member misses if its distance is at least the lines of its
 * partition, any other use if its is at least the lines of the rest. A single object may be added
 * at any time: its stacks are taken out of the one that has seen everything. A group is there
 * before anything is used, and its objects join before they are.
 *
 * The cost is one stack operation per candidate and access. Pure, not thread-safe.
 */
#ifndef REUSE_REUSE_EXACT_PARTITION_H
#define REUSE_REUSE_EXACT_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include "reuse/exact_stack.h"
#include "reuse/exact_tally.h"

enum { EXACT_PARTITIONS_MAX = 8, EXACT_MEMBERS_MAX = 16 };

struct exact_partition {
    uint32_t members[EXACT_MEMBERS_MAX]; /* objects */
    unsigned member_count;               /* 1 but for groups */
    struct exact_stack isolated, rest;
    /* [0]: of the rest, [1 + i]: of member i; by region of the use */
    struct exact_tallies counts[1 + EXACT_MEMBERS_MAX];
};

struct exact_partitions {
    unsigned count;
    struct exact_partition items[EXACT_PARTITIONS_MAX];
};

/*
 * Adds a candidate. `everything` is the stack of all accesses so far; object_of tells whose each of
 * its lines is. What was accessed before counts with its distance among everything, as `before` has
 * it, and as the rest's: add an object while it has few lines. False when memory is short or there
 * are too many.
 */
bool exact_partition_add(struct exact_partitions *, uint32_t object,
                         const struct exact_stack *everything, const struct exact_counts *before,
                         uint32_t (*object_of)(void *context, uint64_t line), void *context);

/* Adds a group without members, before the first use of anything. False as above. */
bool exact_partition_add_group(struct exact_partitions *);

/* An object becomes a member, before its first use. False when there are too many. */
bool exact_partition_join(struct exact_partition *, uint32_t object);

/* Gives a candidate up; the last one takes its place. */
void exact_partition_remove(struct exact_partitions *, unsigned index);

void exact_partitions_destroy(struct exact_partitions *);

/* One access to a line by way of an object, in a region (any number; 0 if there is none). */
void exact_partitions_use(struct exact_partitions *, uint32_t object, uint32_t region,
                          uint64_t line);

#endif
