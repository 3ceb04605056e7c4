/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tables of the section on a job are made of. */
#ifndef REUSE_POSTPROC_JOB_VIEW_H
#define REUSE_POSTPROC_JOB_VIEW_H

#include "document/document.h"
#include "report/job/rank_figures.h"

/* All that the tables are made of. */
struct job_view {
    struct model *model;
    struct document *document;
    struct section *section;
    const struct job_files *files;
    struct job_figures figures;
};

/* A measure of the ranks: CPU time, or misses at a level. */
struct measure {
    const char *what;
    const struct spread *spread;
    enum cell_kind kind;
    size_t level; /* MACHINE_LEVELS_MAX: CPU time */
};

struct measure time_measure(struct job_view *);
struct measure level_measure(struct job_view *, size_t level);

/* False: it is not known of that rank. */
bool measure_of(const struct measure *, const struct rank_figures *, struct estimate *value);

/* Tables with a row for each rank, group of ranks, and node. shown, asked: in text as well. */
void job_add_ranks(struct job_view *, bool shown);
void job_add_groups(struct job_view *);
void job_add_nodes(struct job_view *, bool asked);

#endif
