/* SPDX-License-Identifier: BSD-3-Clause */
/* What a profile that a test has made says of reuse times. For tests with cmocka, which is included
 * before; fails them if it cannot be read. */
#ifndef REUSE_TESTS_REUSE_OCTAVE_H
#define REUSE_TESTS_REUSE_OCTAVE_H

#include <stdlib.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "support/profile_builder.h"

/* The part of the reuses from `low` accesses, a power of two, up to twice as many. The file is
 * removed. */
static inline double reuse_octave_part(const char *path, uint64_t low)
{
    struct profile *profile = profile_builder_load(path);
    const struct profile *one[] = {profile};
    char message[256];
    struct analysis *analysis = analysis_create(one, 1, NULL, message, sizeof message);
    struct histogram_share *bins;
    double part = 0;

    if (!analysis)
        fail_msg("%s", message);
    size_t n = analysis_reuse_time_histogram(analysis, (struct subset){0}, &bins);
    for (size_t i = 0; i < n; i++)
        part += bins[i].lo == low ? bins[i].share.value : 0;
    free(bins);
    analysis_free(analysis);
    profile_free(profile);
    unlink(path);
    return part;
}

#endif
