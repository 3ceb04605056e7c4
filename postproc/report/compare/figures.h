/* SPDX-License-Identifier: BSD-3-Clause */
/* The quantities of a run that two runs are compared by, and that conditions are about. */
#ifndef REUSE_POSTPROC_REPORT_COMPARE_FIGURES_H
#define REUSE_POSTPROC_REPORT_COMPARE_FIGURES_H

#include "report/compare/change.h"
#include "report/model/model.h"

struct run_figures {
    struct figure cpu_ns; /* of all threads, without the profiler's part */
    struct figure accesses;
    struct figure transfers, true_sharing, false_sharing; /* the program's own, in lines moved */
    size_t levels;
    unsigned level[MACHINE_LEVELS_MAX];           /* 1, 2, 3 */
    struct figure misses[MACHINE_LEVELS_MAX];     /* accesses that miss, in private caches */
    struct figure miss_ratio[MACHINE_LEVELS_MAX]; /* per access, as are the next */
    struct figure cold[MACHINE_LEVELS_MAX], capacity[MACHINE_LEVELS_MAX],
        coherence[MACHINE_LEVELS_MAX];
    const char *why_no_time, *why_no_transfers; /* where these are not known; live as the model */
};

/*
 * Amounts are totals of all profiles of the model, or, per_file, means of its files: so that sides
 * with different numbers of files compare. The CPU time of several files then has the interval that
 * their spread gives (Student's t); of one file it is known once.
 */
void figures_of(struct model *, bool per_file, struct run_figures *);

/* An estimate divided by a number above zero. */
struct figure figure_divided(struct figure, double by);

/* Misses at a level of a part of the accesses, as a total. */
struct figure figure_misses(const struct model *, struct subset, size_t level);

#endif
