/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a curve says about code: data that would be reused if the loops around it were blocked or
 * moved together, streams that no cache can help, and lines of which little is used. Made from
 * numbers alone; the section says it of lines of source.
 */
#ifndef REUSE_POSTPROC_BLOCKING_HINTS_H
#define REUSE_POSTPROC_BLOCKING_HINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/analysis.h"
#include "machine/machine.h"

enum hint_kind {
    HINT_NONE,
    HINT_BLOCK,  /* reused, but after more data than a cache holds: bring the reuse closer */
    HINT_STREAM, /* whole lines, used once in a while: pass the caches by */
    HINT_LAYOUT, /* lines of which a small part is used: put together what is used together */
};

/* One group of accesses: those of a line of source to an object. */
struct hint_question {
    const struct curve_point *points; /* ascending sizes, the machine's among them */
    size_t count;
    const struct machine *machine;
    double accesses;       /* of the group */
    double total_accesses; /* of everything that is looked at */
    double line_size;
    double width; /* mean bytes of an access; 0: not known, then there are no layout hints */
};

struct hint {
    enum hint_kind kind;
    size_t level;           /* whose misses it is about: the outermost one that is too small */
    double need_bytes;      /* HINT_BLOCK: the cache that would hold the reuse */
    double bytes_of_line;   /* HINT_LAYOUT: that are asked for per line fetched */
    struct estimate misses; /* HINT_BLOCK: that would be hits; else those of the group at level */
};

/*
 * The shares that count: a group whose misses are less than this part of all accesses is not worth
 * a hint, nor is a fall of the curve by less than this part of the group's misses. Misses of the
 * first cache that the second one serves cost little: more of them are needed.
 */
#define HINT_MISSES_MIN 0.003
#define HINT_FIRST_MISSES_MIN 0.02
#define HINT_FALL_MIN 0.3

struct hint hint_for(const struct hint_question *);

#endif
