/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows of a line that threads fight over: which act of whom is followed by which. */
#ifndef REUSE_ANALYSIS_CONTENDED_FLOWS_H
#define REUSE_ANALYSIS_CONTENDED_FLOWS_H

#include "analysis/communication/communication_internal.h"

/* What is not known is taken from three places; replicates lie between them. */
enum scenario { USUAL, LEAST, MOST, SCENARIOS };

struct scenarios {
    double of[SCENARIOS];
};

/* Where between its ends a replicate takes the value: 0 the least, 1/2 the usual, 1 the most. */
double scenarios_between(const struct scenarios *, double place);

/* What a thread does at a line: one instruction, address and kind. */
struct act {
    uint32_t thread_id;
    uint64_t address, ip;
    bool store;
    uint32_t sample; /* stands for it in flows */
    uint64_t mask;   /* bytes of the line */
    double weight;   /* in the bin under way */
};

struct contended_pair; /* of acts, and the flow that it is counted in */

enum { CONTENDED_BUCKETS = 4096 };

struct contended_flows {
    struct communication *communication;
    struct act *acts; /* of one line, sorted */
    size_t act_count;
    uint32_t *act_of; /* by use */
    struct contended_pair *pairs;
    size_t pair_count, pair_capacity;
    uint32_t buckets[CONTENDED_BUCKETS];
    double *scale[SCENARIOS]; /* by replicate: what is added is multiplied with it */
};

/* Room for so many uses. Freed by contended_flows_free(). */
void contended_flows_create(struct contended_flows *, struct communication *, size_t uses);
void contended_flows_free(struct contended_flows *);

/* Begins with another line, whose uses are [first, end): lists their acts. */
void contended_flows_begin(struct contended_flows *, const struct line_use *uses, size_t first,
                           size_t end);

/* Adds to the flow between two acts, made if there is none. */
void contended_flows_add(struct contended_flows *, size_t source, size_t destination,
                         enum transfer_kind, const struct scenarios *transfers);

#endif
