/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much threads communicate with each other: a sparse symmetric matrix without a diagonal.
 * Threads are numbered 0 .. threads-1; what they are called is the caller's business. Weights are
 * transfers (or bytes: every figure made of them scales with the unit), both directions added.
 */
#ifndef REUSE_PLACEMENT_MATRIX_H
#define REUSE_PLACEMENT_MATRIX_H

#include <stddef.h>
#include <stdint.h>

struct matrix_entry {
    uint32_t column;
    double weight; /* > 0 */
};

struct communication_matrix {
    size_t threads;
    size_t *begin; /* row i is entries[begin[i]] .. entries[begin[i + 1] - 1], columns ascending */
    struct matrix_entry *entries;
    double total; /* sum over unordered pairs */
};

/* What passes between two threads; the order of the two does not matter. */
struct traffic_pair {
    uint32_t a, b;
    double weight;
};

/*
 * Adds up the pairs, in any order and with repetitions. Those of a thread with itself and those
 * without a positive weight count for nothing. The numbers of pairs must be below threads.
 */
struct communication_matrix *matrix_create(size_t threads, const struct traffic_pair *,
                                           size_t count);
void matrix_free(struct communication_matrix *);

/* 0 for pairs that do not communicate. */
double matrix_weight(const struct communication_matrix *, uint32_t a, uint32_t b);

/*
 * How uneven the communication is: cells scaled so that the largest is 100, then the mean over the
 * threads of the variance of a thread's cells with the others. 0: everybody talks as much with
 * everybody, so placement cannot matter; at most 2500 for pairs' worth of contrast. The measure of
 * Diener et al., "Characterizing communication and page usage of parallel applications for thread
 * and data mapping" (Performance Evaluation 88-89, 2015), as their tool numalize computes it.
 */
double matrix_heterogeneity(const struct communication_matrix *);

#endif
