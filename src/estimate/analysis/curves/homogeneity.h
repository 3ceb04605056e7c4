/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether two sets of counts, by the same classes, differ by more than chance. */
#ifndef REUSE_ANALYSIS_HOMOGENEITY_H
#define REUSE_ANALYSIS_HOMOGENEITY_H

#include <stdint.h>

/* Above this, chance shows such a difference in one of a thousand cases. */
#define HOMOGENEITY_DIFFERENT 3.09

/* A chi-square sum as a standard normal deviate (Wilson and Hilferty 1931). */
double chi_square_deviate(double square, double freedom);

/* Chi-square test of homogeneity, as a deviate; classes in which few are to be expected are put
 * together. -INFINITY: too few to tell. Both sets hold something. */
double homogeneity_deviate(const uint32_t *a, const uint32_t *b, unsigned classes);

/* In both sets together; smaller classes are put together for a test. */
enum { HOMOGENEITY_EXPECTED_MIN = 10 };

#endif
