/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Consecutive accesses of one thread, one of which is a sample: what comes before and after it. A
 * burst has such a run for each of its probes (burst_run()); whoever follows a thread from
 * somewhere else makes one of what was seen. Pure; signal-safe.
 */
#ifndef REUSE_SAMPLING_ACCESS_RUN_H
#define REUSE_SAMPLING_ACCESS_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "access.h"
#include "profile/format.h"
#include "sampling/random.h"

struct access_run {
    const struct access *accesses; /* the caller's; in program order */
    uint32_t count;
    uint32_t from;        /* index of the first one that is still to be executed */
    uint32_t sampled;     /* index of the sampled access */
    struct access sample; /* the same, or its part in one of the lines that it touches */
    bool straddles;       /* it touches several */
    uint32_t line_size;   /* the run's */
};

/* The access of that index is the sample; of the lines that it touches one is drawn. */
struct access_run access_run_at(const struct access *, uint32_t count, uint32_t index,
                                uint32_t line_size, struct random *);

/* How often the instruction of the sample is still to touch its word, of so many bytes (a power of
 * two), before the sampled access. */
uint32_t access_run_ahead(const struct access_run *, uint32_t word_bytes);

/*
 * Fills what the run tells of its sample: ip, address, width, kind, SAMPLE_STRADDLES,
 * accesses_ahead, and reuse_time (at all line sizes) and reuse_ip as far as the run goes.
 * lines_ahead is 0: not counted.
 */
void access_run_describe(const struct access_run *, struct record_sample *);

#endif
