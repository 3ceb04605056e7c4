/* SPDX-License-Identifier: BSD-3-Clause */
/* See line_sources.h. */
#include "analysis/rates/line_sources.h"

#include <math.h>

const double line_source_bytes[LINE_SOURCE_SIZES] = {32 << 10, 1 << 20, 32 << 20};
const struct line_sources line_sources_usual = {.second = 0.5, .third = 0.2, .memory = 0.05};

double line_sources_new(const struct profile *const *profiles, size_t profile_count)
{
    double accesses = 0, new_lines = 0;

    for (size_t p = 0; p < profile_count; p++) {
        for (size_t i = 0; i < profiles[p]->progress.count; i++) {
            const struct record_progress *record = profiles[p]->progress.items[i];
            double held = 0, lines = 0, of = 0;

            for (uint32_t k = 0; k < record->count; k++) {
                const struct progress_variable *variable = &record->variables[k];

                if (variable->kind != PROGRESS_MODEL)
                    continue;
                if (variable->place == PROGRESS_HELD_CYCLES)
                    held = variable->within;
                else if (variable->place == PROGRESS_NEW_LINES)
                    lines = variable->within;
                of = variable->accesses;
            }
            /* Bursts stand for times: in that of one code has so many accesses. */
            if (held > 0) {
                accesses += of / held;
                new_lines += lines / held;
            }
        }
    }
    return accesses > 0 ? new_lines / accesses : 0;
}

struct line_sources line_sources_of(double new_lines, const double misses[LINE_SOURCE_SIZES])
{
    struct line_sources sources;

    sources.second = fmin(1, misses[0] / new_lines);
    sources.third = fmin(sources.second, misses[1] / new_lines);
    sources.memory = fmin(sources.third, misses[2] / new_lines);
    return sources;
}
