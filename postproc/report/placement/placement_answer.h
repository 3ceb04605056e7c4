/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mappings that are worth talking of, what each costs, and which of them to recommend.
 */
#ifndef REUSE_POSTPROC_PLACEMENT_ANSWER_H
#define REUSE_POSTPROC_PLACEMENT_ANSWER_H

#include "report/placement/placement_problem.h"

/* Less than this part of what random mappings cost is not worth binding threads for. */
#define PLACEMENT_WORTHWHILE 0.05

/* A mapping with its figures. */
struct placement_candidate {
    const char *name;
    uint32_t *place, *capacity;
    double hop_bytes, quality, share[TREE_LEVELS_MAX];
    struct edge_traffic edge;
};

enum placement_number {
    PLACEMENT_PACKED,
    PLACEMENT_SPREAD_OUT,
    PLACEMENT_IDENTITY,
    PLACEMENT_SCATTER,
    PLACEMENT_CANDIDATES
};

struct placement_answer {
    struct placement_problem *problem;
    struct placement_candidate candidates[PLACEMENT_CANDIDATES];
    size_t chosen;     /* packed, spread, or identity where nothing found is better */
    bool room;         /* there are more places than threads: the two differ */
    size_t edge_level; /* of the caches that the two are compared at; 0: there are none */
    double random_median, heterogeneity;
    struct placement_gain gain;
    bool matters;
    bool spread_wins, conflict; /* where there is room and there are caches to compare */
};

/*
 * Finds everything but the problem, which is the caller's to create (placement_problem_create())
 * and the answer's to free. False with one line in message.
 */
bool placement_answer_find(struct placement_answer *, char *message, size_t message_size);

/* Frees what the answer holds, its problem included; also after failure. */
void placement_answer_free(struct placement_answer *);

#endif
