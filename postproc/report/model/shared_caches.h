/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The caches of the machine that several threads share, evaluated as such: beside each shared
 * level's private curve one on the merged accesses of the threads that were seen on its CPUs.
 */
#ifndef REUSE_POSTPROC_SHARED_CACHES_H
#define REUSE_POSTPROC_SHARED_CACHES_H

#include "report/model/model.h"

enum groups_basis {
    GROUPS_GIVEN,     /* --group */
    GROUPS_TOPOLOGY,  /* of the run's host, by hwloc */
    GROUPS_BY_NUMBER, /* neighbouring CPU numbers share as many as the machine says */
    GROUPS_ONE,       /* a core for each thread, all in one group: simulated, or counted */
};

/* Levels whose caches the same CPUs share have one between them. */
struct shared_cache {
    struct cache_groups groups;
    enum groups_basis basis;
    size_t first_level, levels; /* of the machine; levels 0: asked for, but no level is shared */
    struct analysis *analysis;
    size_t group_count; /* groups that threads were seen in, in all processes */
    bool exact;
    struct curve_point whole[MODEL_SIZES_MAX], octaves[MODEL_OCTAVES];
    struct miss_split misses[MACHINE_LEVELS_MAX]; /* by level - first_level */
    /* Of the counts beside the bursts, where there is one group. */
    bool has_truth;
    struct curve_point true_whole[MODEL_SIZES_MAX], true_octaves[MODEL_OCTAVES];
    struct comparison comparison;
};

/*
 * The model's, computed once; *count 0: the run had one thread, only one thread is asked about, no
 * level is shared, or the profile does not know. The model frees them.
 */
const struct shared_cache *shared_caches(struct model *, size_t *count);

void shared_caches_free(struct shared_cache *, size_t count);

/* Sections: the parts of the misses at each shared level; the curves. */
struct document;
struct section;
void add_shared_misses(struct model *, struct document *, struct section *);
void add_shared_curves(struct model *, struct document *, struct section *);

#endif
