/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long watches ran. The two ends of a watch are known to some hundred nanoseconds, and a line
 * that comes back after a few microseconds seems to come back after anything from nothing to twice
 * that: where a cache is just too small for it, a part of its reuses looks like hits. Watches of
 * one instruction that are so short are therefore drawn together around their mean, until they
 * scatter as much less as the ends alone explain (docs/estimators.md, section 2).
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/internal.h"
#include "reuse/sort_keys.h"
#include "support/memory.h"

enum { WATCHES_MIN = 16 };

/* Both ends of a watch together, as those of a reading of the rate (refill.c). */
#define ENDS_DEVIATION_NS 700.0
/* Longer watches scatter by more than their ends. */
#define SHORT_NS (10 * ENDS_DEVIATION_NS)

static bool is_short(const struct analysis *analysis, const struct analysed_watch *watch)
{
    uint32_t profile = analysis->bursts[watch->burst].profile;

    return watch->end && watch->end->reason == WATCH_REUSED && watch->elapsed_ns < SHORT_NS &&
           !profile_counts_accesses(analysis->profiles[profile]);
}

static void draw_together(struct analysis *analysis, const struct sort_key *members, size_t n)
{
    double mean = 0, variance = 0;

    for (size_t i = 0; i < n; i++)
        mean += analysis->watches[members[i].index].elapsed_ns / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += pow(analysis->watches[members[i].index].elapsed_ns - mean, 2) / (double)(n - 1);
    double left = variance > 0 ? 1 - ENDS_DEVIATION_NS * ENDS_DEVIATION_NS / variance : 0;
    double factor = sqrt(fmax(0, left));
    for (size_t i = 0; i < n; i++) {
        double *elapsed = &analysis->watches[members[i].index].elapsed_ns;
        *elapsed = mean + factor * (*elapsed - mean);
    }
}

void analysis_time_watches(struct analysis *analysis)
{
    struct sort_key *keys = allocate(2 * analysis->watch_count + 1, sizeof *keys);
    size_t n = 0;

    for (size_t i = 0; i < analysis->watch_count; i++) {
        struct analysed_watch *watch = &analysis->watches[i];
        uint64_t profile = analysis->bursts[watch->burst].profile;

        watch->elapsed_ns =
            watch->end ? (double)(int64_t)(watch->end->app_ns - watch->record->app_ns) : 0;
        if (is_short(analysis, watch))
            keys[n++] = (struct sort_key){watch->record->ip ^ profile << 48, (uint32_t)i};
    }
    const struct sort_key *sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && sorted[end].key == sorted[i].key; end++)
            continue;
        if (end - i >= WATCHES_MIN)
            draw_together(analysis, sorted + i, end - i);
    }
    free(keys);
}
