/* SPDX-License-Identifier: BSD-3-Clause */
/* For groups of probes: where what they come back to was used last, and which object it is. */
#ifndef REUSE_POSTPROC_LAST_USES_H
#define REUSE_POSTPROC_LAST_USES_H

#include "report/model/model.h"

struct last_use {
    struct code_line line;
    double share; /* of the group's observed reuses, by weight: of late ones where some were seen */
};

enum { LAST_USES_MAX = 4 };

struct last_uses {
    struct last_use uses[LAST_USES_MAX]; /* most frequent first */
    size_t count;
    double late_spread;  /* upper over lower quartile of the accesses between the two; 0: too few */
    size_t watched;      /* reuses among them that watches saw, after their bursts */
    uint32_t object;     /* with most of the group's misses; GROUP_NONE: unknown */
    double object_share; /* of the group's accesses */
};

/* Labels objects if needed. Exact profiles say neither. */
void last_uses_of(struct model *, const struct grouping *, uint32_t group, struct last_uses *out);

/* A reuse that came after its burst, which a watch saw. */
struct late_use {
    uint32_t observation; /* the group of probes that tells of such lines */
    uint32_t location;    /* of the watched access, number in the model's resolver */
    double accesses;      /* of its thread, from there to the reuse */
    double weight;        /* open accesses that it stands for */
    double draws;         /* times that it counts: 1 */
};
typedef ARRAY(struct late_use) late_use_list;

/* Those of a group; the caller frees the items. */
void late_uses_of(struct model *, const struct grouping *, uint32_t group, late_use_list *);

/* Upper over lower quartile of their times, each counted `draws` times; 0 of fewer than four. Sorts
 * them. */
double late_uses_spread(late_use_list *);

struct code_line late_use_line(struct model *, const struct late_use *);

/* "a.c:12" or "function" or "lib.so+0x12"; lives as long as the model's strings. */
const char *code_line_text(struct model *, const struct code_line *);

#endif
