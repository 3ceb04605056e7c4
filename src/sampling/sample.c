/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/sample.h"

#include <string.h>

#include "signal_safe.h"

uint64_t sample_period(struct random *random, uint64_t mean)
{
    return mean - mean / 4 +
           (uint64_t)((double)(random_next(random) >> 11) * 0x1p-53 * (double)(mean / 2));
}

uint64_t sample_first_period(struct random *random, uint64_t mean)
{
    enum { LEAST = 100000 };
    uint64_t least = mean / 4 < LEAST ? mean / 4 : LEAST;

    return least + 1 + (uint64_t)((double)(random_next(random) >> 11) * 0x1p-53 * (double)mean);
}

void sample_from_window(struct record_sample *sample, const struct window *window)
{
    const struct access *access = window_sample(window);

    sample->ip = access->ip;
    sample->address = access->address;
    sample->width = access->width;
    sample->kind = access->kind;
    sample->reuse_ip = window->reuse_ip;
    sample->window_accesses = window->examined;
    if (window->short_skip)
        sample->flags |= SAMPLE_SHORT_SKIP;
    if (window->straddles)
        sample->flags |= SAMPLE_STRADDLES;
    sample->window_lines = window->distance + 1;
    memcpy(sample->window_reuse, window->reuse, sizeof sample->window_reuse);
}
