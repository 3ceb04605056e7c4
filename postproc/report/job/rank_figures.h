/* SPDX-License-Identifier: BSD-3-Clause */
/* What each rank of a job did: time, misses per access, and which ranks go together. */
#ifndef REUSE_POSTPROC_JOB_RANK_FIGURES_H
#define REUSE_POSTPROC_JOB_RANK_FIGURES_H

#include "report/job/job_files.h"
#include "report/job/spread.h"
#include "report/model/model.h"

struct rank_figures {
    uint64_t rank;
    const char *host;
    size_t first, files; /* of the job's files */
    double cpu_ns;       /* of the program, all threads; 0: not known */
    size_t bursts;       /* 0: exact */
    bool enough;         /* has the bursts that an interval needs, or is exact */
    struct estimate accesses;
    struct estimate misses[MACHINE_LEVELS_MAX]; /* per access, by the model's levels */
    bool known[MACHINE_LEVELS_MAX];
    bool apart[MACHINE_LEVELS_MAX], time_apart; /* an outlier there (spread.h) */
    uint32_t group;                             /* GROUP_NONE: not known */
};

/* An answer for all ranks. */
struct job_figures {
    struct rank_figures *ranks; /* by ascending rank */
    size_t count;
    size_t groups;
    size_t levels;
    double factor; /* by which intervals are widened, for there are many of them */
    struct spread time, misses[MACHINE_LEVELS_MAX];
};

/*
 * Reads the files again, one rank at a time. The machine and line size are the model's. A file that
 * can no longer be read leaves its rank without figures.
 *
 * Groups: in the order of their numbers, each rank joins the first group from whose first rank it
 * differs at no level (estimates_are_alike()), else begins one (leader clustering, Hartigan,
 * "Clustering Algorithms", 1975, chapter 3).
 */
void job_figures_of(const struct model *, const struct job_files *, struct job_figures *);
void job_figures_free(struct job_figures *);

#endif
