/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/rates/access_clock.h"

#include <stdlib.h>

#include "support/memory.h"

static int compare_samples(const void *a, const void *b)
{
    const struct clock_sample *x = a, *y = b;

    return x->app_ns != y->app_ns ? (x->app_ns < y->app_ns ? -1 : 1) : 0;
}

void access_clock_create(struct clock_sample *samples, size_t n, bool counted,
                         struct access_clock *out)
{
    out->counted = counted;
    out->ticks = allocate(n, sizeof *out->ticks);
    out->count = 0;
    if (n)
        qsort(samples, n, sizeof *samples, compare_samples);
    double accesses = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
        accesses += (before + samples[i].accesses) / 2;
        before = samples[i].accesses;
        if (out->count && out->ticks[out->count - 1].app_ns == samples[i].app_ns)
            out->count--;
        out->ticks[out->count++] = (struct clock_tick){
            .app_ns = samples[i].app_ns, .accesses = accesses, .rate = samples[i].rate};
    }
}

void access_clock_free(struct access_clock *clock)
{
    free(clock->ticks);
    *clock = (struct access_clock){0};
}

/* Number of ticks at or before app_ns. */
static size_t ticks_until(const struct access_clock *clock, uint64_t app_ns)
{
    size_t low = 0, high = clock->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (clock->ticks[middle].app_ns <= app_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static double reading(const struct access_clock *clock, uint64_t app_ns)
{
    if (clock->count == 0)
        return 0;
    size_t after = ticks_until(clock, app_ns);
    if (after == 0) {
        const struct clock_tick *first = &clock->ticks[0];
        return first->accesses - (double)(first->app_ns - app_ns) * first->rate;
    }
    const struct clock_tick *left = &clock->ticks[after - 1];
    double elapsed = (double)(app_ns - left->app_ns);
    if (after == clock->count) {
        /* The last sample's second half; beyond it nobody has seen the thread. */
        double ahead = elapsed * left->rate;
        const struct clock_tick *before = after >= 2 ? &clock->ticks[after - 2] : NULL;
        double limit = before ? left->accesses - before->accesses : ahead;
        return left->accesses + (ahead < limit ? ahead : limit);
    }
    const struct clock_tick *right = &clock->ticks[after];
    return left->accesses +
           (right->accesses - left->accesses) * elapsed / (double)(right->app_ns - left->app_ns);
}

double access_clock_between(const struct access_clock *clock, uint64_t from_ns, uint64_t to_ns)
{
    if (to_ns <= from_ns)
        return 0;
    return clock->counted ? (double)(to_ns - from_ns)
                          : reading(clock, to_ns) - reading(clock, from_ns);
}

uint64_t access_clock_gap(const struct access_clock *clock, uint64_t app_ns)
{
    size_t after = ticks_until(clock, app_ns);

    return after < clock->count ? clock->ticks[after].app_ns - app_ns : UINT64_MAX;
}
