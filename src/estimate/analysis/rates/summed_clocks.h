/* SPDX-License-Identifier: BSD-3-Clause */
/* Several clocks, each the sum of what grows evenly over stretches of time. */
#ifndef REUSE_ANALYSIS_SUMMED_CLOCKS_H
#define REUSE_ANALYSIS_SUMMED_CLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/rates/access_clock.h"

/* Something that grows evenly from one time to another, on one of several clocks. */
struct stretch {
    uint32_t clock;
    uint64_t from_ns, to_ns;
    double amount;
};

/* Adds n stretches, in any order, up to that many clocks. Clocks that have none stand still. */
struct access_clock *summed_clocks_create(const struct stretch *, size_t n, size_t clocks);
void summed_clocks_free(struct access_clock *);

#endif
