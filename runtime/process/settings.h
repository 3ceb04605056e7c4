/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process was told, in the form that handlers use. Written once at start-up. */
#ifndef REUSE_RUNTIME_SETTINGS_H
#define REUSE_RUNTIME_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "isa/pipeline.h"
#include "job.h"
#include "options.h"
#include "watches/register_state.h"

struct settings {
    struct job job;
    bool sharing;
    uint32_t line_size;
    uint64_t seed;
    /* Hidden cost of a watch trap and of a clock expiry. trap_ns is 0 where registers cannot be
     * used: then none is opened. */
    uint64_t trap_ns, trigger_ns;
    enum register_state registers;
    struct pipeline_width width; /* of the processor; all 0 until it is measured */
    uint64_t cpus, page_size;
    /* Of a thread's clock, ns, at least. Below SAMPLE_FIRST_LEAST the event ends with its first
     * expiry, so that it cannot expire again and again before a handler runs. */
    uint64_t first_least_ns;
    uint64_t stop_ns;       /* CLOCK_MONOTONIC at which sampling ends; 0 never */
    struct options options; /* last: it ends in texts that mostly stay untouched */
};

extern struct settings settings;

#endif
