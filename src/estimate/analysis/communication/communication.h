/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communication between threads: coherence transfers, each from a thread to a thread, of one kind,
 * true or false (docs/communication.md, "Communication").
 *
 * A flow is one observation: of a sampled profile, an event that a watched line showed; of an exact
 * one, a counted combination of threads, line and instructions. What a flow stands for is in
 * `transfers`; sums over any subset of the flows come with an interval. Questions about matrices,
 * objects, lines and members are sums over differently labelled flows.
 */
#ifndef REUSE_ANALYSIS_COMMUNICATION_H
#define REUSE_ANALYSIS_COMMUNICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "estimate.h"

/* One of the two accesses of a transfer. */
struct flow_end {
    uint32_t thread_id;  /* of the profile */
    uint32_t context_id; /* 0 unknown */
    uint64_t ip;         /* of the access itself; 0 unknown or aggregated */
    uint16_t offset;     /* of its first byte within the line */
    uint8_t width;       /* bytes, 0 unknown */
    bool cpu_known;
    uint16_t cpu; /* that it ran on */
};

struct flow {
    size_t profile_index;
    uint8_t kind; /* enum transfer_kind */
    bool true_sharing;
    /* Of a sampled profile: follows from rates, as no watch could see it; between bounds. */
    bool modelled;
    uint8_t object_kind; /* enum object_kind */
    uint32_t object_reference;
    /* Of the block; 0 unknown. Without a line, the base of a global is the variable's address. */
    uint64_t object_base, object_size;
    uint64_t line_address; /* first byte of the line; 0: of any line of the object */
    struct flow_end source, destination;
    uint32_t sample;  /* of a sampled profile: that it follows, index of analysis_sample() */
    double transfers; /* that it stands for */
};

struct communication;

/*
 * Builds the flows. line_size: 0 for the run's, or a larger power of two, at which sampled profiles
 * are modelled (communication_wider.c) and exact ones have counts or not. NULL with one line in
 * message when the profile tells nothing of communication (recorded with --no-sharing) or at that
 * line size. A profile of one thread has no flows, which is an answer. The analysis must outlive
 * it.
 */
struct communication *communication_create(const struct analysis *, uint32_t line_size,
                                           char *message, size_t message_size);
void communication_free(struct communication *);

/* No register watched what threads do to each other's lines: all flows between threads of a process
 * are modelled, from the lines at which their bursts met. */
bool communication_is_modelled(const struct communication *);

size_t communication_flow_count(const struct communication *);
const struct flow *communication_flow(const struct communication *, size_t index);

/*
 * Transfers of the flows whose label is `group` (labels: one per flow; NULL: all flows). Exact
 * profiles have intervals of no width.
 */
struct estimate communication_total(const struct communication *, const uint32_t *labels,
                                    uint32_t group);

/* Totals of groups 0 .. group_count-1 at once; flows with another label count in none. */
void communication_totals(const struct communication *, const uint32_t *labels, size_t group_count,
                          struct estimate *totals);

#endif
