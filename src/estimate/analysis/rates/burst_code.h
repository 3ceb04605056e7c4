/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What instructions the bursts of a profile executed, and how often: read once from their probes,
 * for all that asks. Pure; not thread-safe.
 */
#ifndef REUSE_ANALYSIS_BURST_CODE_H
#define REUSE_ANALYSIS_BURST_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/reader.h"

/* An instruction of a burst. One may be there twice: where a burst begins counts as a probe more.
 */
struct execution {
    uint32_t instruction; /* index in ips */
    uint32_t burst;       /* index in the profile's bursts */
    float probes;         /* at least 1 */
};

/* The first and the last instruction of a burst; first > last: it has none. */
struct code_span {
    uint64_t first, last;
};

/* Owned by whoever calls burst_code_create(). */
struct burst_code {
    uint64_t *ips; /* each once, in order of first mention */
    size_t ip_count;
    struct execution *executions; /* in no order */
    size_t execution_count;
    struct code_span *spans; /* of each burst, without where it begins */
};

void burst_code_create(const struct profile *, struct burst_code *out);
void burst_code_free(struct burst_code *);

#endif
