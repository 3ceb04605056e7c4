/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access rates of groups of loops from what is known of single ones and of several together. Pure.
 * docs/estimators.md, section 1.
 *
 * The unknowns are ln(rate) of each group. They scatter about what is expected of its code and an
 * offset, unknown and the same for all groups of the program; readings of one group say what its
 * rate is, words that move on in several groups what a sum of their rates is. The most probable
 * rates are found by Gauss-Newton steps, with the weights of a Student distribution, so that what
 * contradicts everything else counts little (Lange, Little and Taylor, JASA 84, 1989). What may be
 * astray counts with the probability that it is not, which what is expected of the code tells.
 */
#ifndef REUSE_ANALYSIS_RATE_FIT_H
#define REUSE_ANALYSIS_RATE_FIT_H

#include <stddef.h>
#include <stdint.h>

enum { RATE_GROUPS_MAX = 32 };

/* ln(rate in accesses per ns) of a group. */
struct rate_reading {
    uint32_t group;
    double log_rate, variance;
    size_t bursts; /* that it rests on */
    /* How likely it is, before it is compared with anything, that it says something else: that the
     * variable does not count what the code does. */
    double astray;
};

/* moved = sum over count terms from `first` on of weight * rate of the group; variance: of its
 * logarithm. astray as above. */
struct rate_equation {
    double moved, variance, astray;
    size_t first, count;
};

struct rate_term {
    uint32_t group;
    double weight; /* > 0 */
};

struct rate_evidence {
    uint32_t groups;                  /* at most RATE_GROUPS_MAX */
    double share[RATE_GROUPS_MAX];    /* of the time; their sum is 1 */
    double expected[RATE_GROUPS_MAX]; /* ln(rate), by what the code does */
    /* Of ln(rate) about what is expected: of all groups in common, and what each has besides. */
    double common_variance, own_variance[RATE_GROUPS_MAX];
    struct rate_reading *readings;
    struct rate_equation *equations;
    struct rate_term *terms;
    size_t reading_count, equation_count, term_count;
};

struct rate_fit {
    double log_rate[RATE_GROUPS_MAX], deviation[RATE_GROUPS_MAX]; /* standard error of it */
    double total_deviation;                                       /* of ln(all accesses) */
};

void rate_fit(const struct rate_evidence *, struct rate_fit *);

/* Sorts n >= 1 readings by rate; the index of the middle one, weighted by 1/variance. */
size_t rate_middle(struct rate_reading *, size_t n);

#endif
