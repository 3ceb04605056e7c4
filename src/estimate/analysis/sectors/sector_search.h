/* SPDX-License-Identifier: BSD-3-Clause */
/* The best way to divide a cache level between data structures, for each region. */
#ifndef REUSE_ANALYSIS_SECTOR_SEARCH_H
#define REUSE_ANALYSIS_SECTOR_SEARCH_H

#include "analysis/sectors/sectors.h"

struct sector_level {
    double lines_per_way;
    unsigned ways;  /* that can be divided */
    unsigned least; /* ways that each side must have */
};

struct sector_choice {
    uint64_t isolated; /* 0: the level cannot be divided, or there is nothing to isolate */
    unsigned ways;     /* of the isolated side */
    double misses;     /* per access of the region */
    double undivided;
};

/*
 * Structures are expected in order of their late uses, most first. In each region tries every
 * structure of eligible[region] (bits), pairs and small groups of those that do best, and for each
 * size of group the other side of the best one, in any number of ways. Among
 * divisions that save nearly as much as the best one it takes the smallest sector, and in it the
 * fewest structures: a larger sector and more names are more to go wrong. Of these it takes what
 * misses most in its sector: what streams by, rather than what is kept. Nearly: tolerance[region],
 * a part of the undivided misses. A modelled division has to promise sector_model_error() more
 * than a counted one. choices[region].
 */
void sector_search(struct sector_model *, struct sector_level, const uint64_t *eligible,
                   size_t regions, const double *tolerance, struct sector_choice *choices);

/* The split that gives some structures that many ways. */
struct sector_split sector_split_of(struct sector_level, uint64_t isolated, unsigned ways);

#endif
