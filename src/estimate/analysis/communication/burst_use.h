/* SPDX-License-Identifier: BSD-3-Clause */
/* A burst at a line that others use as well, as its record tells. */
#ifndef REUSE_ANALYSIS_BURST_USE_H
#define REUSE_ANALYSIS_BURST_USE_H

#include "analysis/internal.h"

struct burst_use {
    const struct record_shared_use *record;
    uint32_t profile;
    uint32_t file;    /* of processes: number of the file in the profile */
    uint64_t line;    /* of the analysed size: its offset in the file, or its address */
    uint16_t part;    /* which line of the run's size in it was touched */
    uint32_t process; /* origin */
    uint32_t burst;   /* index into analysis.bursts */
    uint64_t time;    /* ns */
    double weight;    /* visits that each one of the burst stands for */
    double app_ns;    /* CPU time of its thread that it stands for */
};

/*
 * Fills in what follows from the record: all but the file; the weight is that of the burst alone.
 * line_size: the analysed one, at least the run's. False: its burst is not there.
 */
bool burst_use_describe(const struct analysis *, uint32_t profile, uint32_t line_size,
                        const struct record_shared_use *, struct burst_use *);

/* Order in time of two uses of one line, as for qsort(). */
int burst_use_compare_times(const struct burst_use *, const struct burst_use *);

#endif
