/* SPDX-License-Identifier: BSD-3-Clause */
/* What the bursts of a subset have at places: what evaluation.c sums up in every replicate. */
#ifndef REUSE_ANALYSIS_EVALUATION_PARTS_H
#define REUSE_ANALYSIS_EVALUATION_PARTS_H

#include "analysis/sectors/evaluation.h"

/* Resolved probes that hit from a place on, where no other thread came to the line meanwhile. */
struct hit_part {
    uint32_t stratum;
    size_t place; /* the number of places: nowhere */
    double time;  /* from use to use: open_lines_time_place() */
    double count;
};

/* What one burst has of the subset. */
struct part {
    uint32_t burst;
    double probes;       /* count */
    double *resolved;    /* by place: of these, resolved ones that miss */
    size_t first, opens; /* range of open parts */
    size_t first_hit, hits;
};

struct open_part {
    uint32_t stratum;
    double count;
};

struct parts {
    struct part *items;
    size_t count;
    double *resolved;
    struct open_part *opens;
    size_t open_count;
    struct hit_part *hits; /* where visits of other threads were seen */
    size_t hit_count, hit_room;
    double *bounds; /* by place: the least distance, or time of the last burst, that misses there */
    bool ascending; /* these are */
};

/* Empty, with room for so many bursts and probes; for parts_free(). */
void parts_create(const struct places *, size_t bursts, size_t probes, struct parts *parts);
/* Adds what a group of probes has, `factor` times, to its burst's part: the last one, or a new one.
 */
void parts_add(const struct analysis *, const struct places *, const struct analysed_probe *,
               double factor, struct parts *parts);
/* Fills *parts, for parts_free(). */
void list_parts(const struct analysis *, struct subset, const struct places *, struct parts *parts);
void parts_free(struct parts *);

#endif
