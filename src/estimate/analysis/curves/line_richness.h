/* SPDX-License-Identifier: BSD-3-Clause */
/* How many lines were used, of which samples show some. */
#ifndef REUSE_ANALYSIS_LINE_RICHNESS_H
#define REUSE_ANALYSIS_LINE_RICHNESS_H

#include <stddef.h>
#include <stdint.h>

struct seen_line {
    uint64_t line;  /* its number: address over line size */
    uint32_t times; /* > 0 */
};

/*
 * About how many lines were used of an object of which samples saw these n, in ascending order. On
 * average not more than there are; fewer where neighbours are used unequally often.
 */
double lines_likely_used(const struct seen_line *seen, size_t n);

#endif
