/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the lines come from that the modelled processor has to wait for. Bursts know which accesses
 * go to lines that were not used in the thousands of accesses before; the curve knows how many
 * accesses miss in the caches of the machine; and loads that were timed tell which lines were in
 * memory. A last cache that other programs use as well holds less than the curve takes it to.
 * docs/estimators.md, section 1.
 */
#ifndef REUSE_ANALYSIS_LINE_SOURCES_H
#define REUSE_ANALYSIS_LINE_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/analysis.h"
#include "profile/reader.h"

/* Of the accesses to lines not used lately, the shares whose line comes from the second cache or
 * farther, from the third or farther, and from memory: 1 >= second >= third >= memory >= 0. */
struct line_sources {
    double second, third, memory;
};

enum { LINE_SOURCE_SIZES = 3 };
/* Of the first, second and third cache, bytes, ascending: the run's, as far as the profile names
 * them, else usual ones. */
void line_source_bytes(const struct profile *, double bytes[LINE_SOURCE_SIZES]);

/* Where nothing is known: the mean of 48 programs. */
extern const struct line_sources line_sources_usual;

/* Of the loops that are listed, by profile and loop, each its own; of others those of the rest. */
struct loop_line_sources {
    uint32_t profile;
    uint64_t loop;
    struct line_sources sources;
};

struct program_line_sources {
    struct line_sources rest;
    struct timed_lines timed;        /* of the whole */
    struct loop_line_sources *loops; /* ascending */
    size_t count;
};

const struct line_sources *line_sources_of_loop(const struct program_line_sources *,
                                                uint32_t profile, uint64_t loop);

/* With loops of its own, which the caller frees. */
struct program_line_sources line_sources_copy(const struct program_line_sources *);

/* What modelled bursts say of their accesses, each for as long as the next: the sums over several
 * bursts, divided, are accesses to lines not used lately per access. */
struct new_lines {
    double accesses, lines;
    double bursts;
    double scattered;     /* of the lines, those next to none that was used lately */
    double memory_ns;     /* that those from memory took longer than one in the first cache */
    double timed, memory; /* such lines whose loads were timed, and of these from memory; in all */
};

/* Adds what a record says; nothing if its burst was not modelled. */
void line_sources_add(const struct record_progress *, struct new_lines *);

/* Adds what was added to another. */
void line_sources_join(const struct new_lines *, struct new_lines *sum);

/* Whether some burst of the profiles was modelled. */
bool line_sources_are_told(const struct profile *const *profiles, size_t profile_count);

/* From those, lines > 0, and misses per access at line_source_bytes(). */
struct line_sources line_sources_of(const struct new_lines *,
                                    const double misses[LINE_SOURCE_SIZES]);
struct timed_lines timed_lines_of(const struct new_lines *, const double misses[LINE_SOURCE_SIZES]);

#endif
