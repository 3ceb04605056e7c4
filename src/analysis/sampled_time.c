/* SPDX-License-Identifier: BSD-3-Clause */
/* See sampled_time.h. */
#include "analysis/sampled_time.h"

#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
    const struct record_burst *x = *(const struct record_burst *const *)a;
    const struct record_burst *y = *(const struct record_burst *const *)b;

    if (x->thread_id != y->thread_id)
        return x->thread_id < y->thread_id ? -1 : 1;
    return (x->app_ns > y->app_ns) - (x->app_ns < y->app_ns);
}

/* The burst after that of the reading, in its thread; NULL: none. */
static const struct record_burst *next_burst(const struct record_burst *const *bursts, size_t n,
                                             const struct progress_reading *reading)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (bursts[middle]->thread_id < reading->thread_id ||
            (bursts[middle]->thread_id == reading->thread_id &&
             bursts[middle]->app_ns <= reading->app_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && bursts[low]->thread_id == reading->thread_id ? bursts[low] : NULL;
}

/* Readings of one thread. Accesses in all of their time over those in what bursts stand for there:
 * the slow ones are often so because the kernel worked, and then took long. */
static void convert(const struct record_burst *const *bursts, size_t n,
                    struct progress_reading *readings, size_t count)
{
    double all = 0, sampled = 0;

    for (size_t i = 0; i < count; i++) {
        const struct record_burst *next =
            readings[i].until_next ? next_burst(bursts, n, &readings[i]) : NULL;

        if (!next)
            continue;
        all += readings[i].per_ns * (double)(next->app_ns - readings[i].app_ns);
        sampled += readings[i].per_ns * (double)next->weight_ns;
    }
    for (size_t i = 0; i < count && sampled > 0 && all > sampled; i++)
        if (readings[i].until_next)
            readings[i].per_ns *= all / sampled;
}

void progress_to_sampled_time(const struct profile *profile, struct progress_reading *readings,
                              size_t n)
{
    size_t count = profile->bursts.count;
    const struct record_burst **bursts = malloc((count + 1) * sizeof *bursts);

    if (!bursts)
        return;
    for (size_t i = 0; i < count; i++)
        bursts[i] = profile->bursts.items[i];
    qsort(bursts, count, sizeof *bursts, by_time);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && readings[end].thread_id == readings[i].thread_id;)
            end++;
        convert(bursts, count, &readings[i], end - i);
    }
    free(bursts);
}
