/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profile as a problem of placing threads: who they are, what passes between them, how much cache
 * each needs, on which machine; and how far a gain found in it can be trusted.
 */
#ifndef REUSE_POSTPROC_PLACEMENT_PROBLEM_H
#define REUSE_POSTPROC_PLACEMENT_PROBLEM_H

#include "placement/cache_share.h"
#include "placement/matrix.h"
#include "placement/tree.h"
#include "report/model/communication_view.h"
#include "report/model/model.h"

struct placed_thread {
    uint32_t group;    /* in model->by_thread */
    uint32_t creation; /* 0 for the main thread, then in order of creation */
    int32_t tid;
    const char *name;
    double transfers; /* with other threads that are placed */
    /* Its row of the matrix; GROUP_NONE for threads that hardly run: they need no place. */
    uint32_t row;
};

struct placement_problem {
    struct model *model;
    const struct communication_view *view;
    ARRAY(struct placed_thread) threads; /* by creation */
    uint32_t *thread_of_row;
    size_t rows;

    /* Flows between two placed threads, and the flow that each comes from. */
    ARRAY(struct traffic_pair) pairs;
    ARRAY(uint32_t) pair_flow;
    struct communication_matrix *matrix;
    struct estimate transfers; /* of those flows */

    struct placement_tree *tree;
    const char *topology; /* what the tree is of, for people */

    /* After placement_take_curves(). */
    struct thread_locality *locality; /* of each row */
    double *curves, *curve_bytes;     /* that locality points into */
    double line_size;
};

/* NULL with one line in message. */
struct placement_problem *placement_problem_create(struct model *, char *message,
                                                   size_t message_size);
void placement_problem_free(struct placement_problem *);

/* How much cache each thread needs; once, where it matters. */
void placement_take_curves(struct placement_problem *);

/*
 * What a search with these capacities really saves, as parts of the cost of random mappings and of
 * the identity. A mapping fits the noise of a matrix as well as the communication: so the transfers
 * are dealt into two halves, a mapping is sought with either and judged by the other. The figures
 * are those of mappings found with half of the evidence, and the intervals the judging halves'.
 * Counted transfers have noise too: another run has others.
 */
struct placement_gain {
    struct estimate over_random, over_identity;
};
bool placement_gain_of(const struct placement_problem *, const uint32_t *capacity,
                       struct placement_gain *, char *message, size_t message_size);

#endif
