/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matrix Market files (Boisvert, Pozo and Remington, NISTIR 5935, 1996): `matrix coordinate`, field
 * real, integer or pattern, symmetry general or symmetric.
 */
#ifndef MICROBENCH_MATRIX_MARKET_H
#define MICROBENCH_MATRIX_MARKET_H

#include <stddef.h>
#include <stdint.h>

/* Entries in the order of the file, numbered from 0; a symmetric file's other half is added. */
struct coordinate_matrix {
    size_t rows, columns, entries;
    uint32_t *row, *column; /* entries elements each */
    double *value;
};

/*
 * Reads a file. What is wrong with it ends the program with one line that names file, line number
 * and cause. Free the result with coordinate_matrix_free().
 */
struct coordinate_matrix matrix_market_read(const char *path);
void coordinate_matrix_free(struct coordinate_matrix *);

#endif
