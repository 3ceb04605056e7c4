/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the lines come from that the modelled processor has to wait for. Bursts know which accesses
 * go to lines that were not used in the thousands of accesses before; the curve knows how many
 * accesses miss in caches of usual sizes. docs/estimators.md, section 1.
 */
#ifndef REUSE_ANALYSIS_LINE_SOURCES_H
#define REUSE_ANALYSIS_LINE_SOURCES_H

#include <stddef.h>

#include "profile/reader.h"

/* Of the accesses to lines not used lately, the shares whose line comes from the second cache or
 * farther, from the third or farther, and from memory: 1 >= second >= third >= memory >= 0. */
struct line_sources {
    double second, third, memory;
};

enum { LINE_SOURCE_SIZES = 3 };
/* Of the first, second and third cache, bytes, ascending. */
extern const double line_source_bytes[LINE_SOURCE_SIZES];

/* Where nothing is known: the mean of 48 programs. */
extern const struct line_sources line_sources_usual;

/* Accesses to lines not used lately per access, in all modelled bursts; 0: none tells. */
double line_sources_new(const struct profile *const *profiles, size_t profile_count);

/* From those, > 0, and misses per access at line_source_bytes. */
struct line_sources line_sources_of(double new_lines, const double misses[LINE_SOURCE_SIZES]);

#endif
