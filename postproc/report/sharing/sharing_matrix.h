/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communication matrices: transfers from each party (thread or core) to each other one. Sparse:
 * only pairs that exchange something take memory. The grid for people has at most 64 x 64 cells,
 * each of them a block of the matrix when there are more parties.
 */
#ifndef REUSE_POSTPROC_SHARING_MATRIX_H
#define REUSE_POSTPROC_SHARING_MATRIX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/model/flow_totals.h"

struct matrix_pair {
    uint32_t from, to;
    struct flow_totals transfers;
};

struct sharing_matrix {
    size_t parties;
    struct matrix_pair *pairs; /* most transfers first, all kinds taken together */
    size_t count;
    struct flow_totals total; /* those of unknown parties included */
};

/*
 * Of the flows whose place is `wanted`; from and to number the parties, values of `parties` or more
 * are unknown ones. The arrays have an entry per flow.
 */
struct sharing_matrix *sharing_matrix_create(const struct communication *, size_t party_count,
                                             const uint32_t *from, const uint32_t *to,
                                             const uint32_t *place, uint32_t wanted);
void sharing_matrix_free(struct sharing_matrix *);

/* parties x parties values, source by source; the caller frees them. */
double *sharing_matrix_dense(const struct sharing_matrix *, enum matrix_kind);

/* Lines of at most 79 columns that show one kind; the caller frees the text. */
char *sharing_matrix_grid(const struct sharing_matrix *, enum matrix_kind);

/*
 * As EagerMap reads it: whole numbers, no header, a line per party with the last one first, both
 * directions added up (Cruz et al., PDP 2015; the convention of its README).
 */
void sharing_matrix_eagermap(const struct sharing_matrix *, enum matrix_kind, FILE *);

#endif
