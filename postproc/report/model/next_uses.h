/* SPDX-License-Identifier: BSD-3-Clause */
/* For groups of probes: where what they touched is used next, and which object it was. */
#ifndef REUSE_POSTPROC_NEXT_USES_H
#define REUSE_POSTPROC_NEXT_USES_H

#include "report/model/model.h"

struct next_use {
    struct code_line line;
    double share; /* of the group's observed reuses, by weight: of late ones where some were seen */
};

enum { NEXT_USES_MAX = 4 };

struct next_uses {
    struct next_use uses[NEXT_USES_MAX]; /* most frequent first */
    size_t count;
    double late_spread;  /* upper over lower quartile of their times to the next use; 0: too few */
    size_t watched;      /* reuses among them that watches saw, after their bursts */
    uint32_t object;     /* with most of the group's misses; GROUP_NONE: unknown */
    double object_share; /* of the group's accesses */
};

/* Labels objects if needed. Exact profiles say neither. */
void next_uses_of(struct model *, const struct grouping *, uint32_t group, struct next_uses *out);

/* "a.c:12" or "function" or "lib.so+0x12"; lives as long as the model's strings. */
const char *code_line_text(struct model *, const struct code_line *);

#endif
