/* SPDX-License-Identifier: BSD-3-Clause */
/* Which threads were sampled at which lines of the run's size, and when. */
#ifndef REUSE_ANALYSIS_LINE_USES_H
#define REUSE_ANALYSIS_LINE_USES_H

#include "analysis/internal.h"

struct line_use {
    uint64_t line;
    uint64_t bin;     /* of time, in which rates are taken as constant */
    uint32_t profile; /* with origin and line: which line it is */
    uint32_t origin;  /* process of a merged profile */
    uint32_t thread_id;
    uint32_t sample; /* index into analysis.samples */
    bool store;
};

struct line_uses {
    /* By line, bin, thread, then sample. The loads of read-modify-write instructions are not among
     * them: they are part of the stores. */
    struct line_use *items;
    size_t count;
    struct line_uses_span { /* by profile: times of the first and the last sample */
        uint64_t first, last, bin_ns;
    } * spans;
};

void line_uses_create(const struct analysis *, struct line_uses *);
void line_uses_free(struct line_uses *);

bool line_uses_same_line(const struct line_use *, const struct line_use *);

/* One past the last use of the same line and bin. */
size_t line_uses_end(const struct line_uses *, size_t first);

/* How much of that bin the run covers, ns (in the unit of the samples' times). */
double line_uses_bin_width(const struct line_uses *, const struct line_use *);

#endif
