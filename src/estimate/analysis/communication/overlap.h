/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether threads use a line at the same time, or one after the other. Watches tell: while a
 * thread is on its way to the sampled store, the registers are armed in all threads, and one that
 * is at the line at that moment runs into them.
 */
#ifndef REUSE_ANALYSIS_OVERLAP_H
#define REUSE_ANALYSIS_OVERLAP_H

#include "analysis/communication/communication_internal.h"
#include "analysis/communication/contended_line.h"

struct overlap { /* of one storing instruction */
    uint32_t profile;
    uint64_t ip;
    double met, expected; /* watches that met another thread; that would have, had one been there */
};

struct overlaps {
    struct overlap *items; /* by profile, ip */
    size_t count;
};

void overlaps_create(const struct analysis *, const struct line_uses *, const struct segments *,
                     struct overlaps *);
void overlaps_free(struct overlaps *);

/* The part of the time of that store's thread at the line in which others are there, too. */
struct estimate overlaps_of(const struct overlaps *, uint32_t profile, uint64_t ip);

#endif
