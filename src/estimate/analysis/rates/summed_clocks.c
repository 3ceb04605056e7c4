/* SPDX-License-Identifier: BSD-3-Clause */
/* See summed_clocks.h. */
#include "analysis/rates/summed_clocks.h"

#include <stdlib.h>

#include "reuse/sort_keys.h"
#include "support/memory.h"

struct bend {
    uint32_t clock;
    uint64_t time_ns;
    double slope; /* that is added from here on */
};

/* By clock, and by time on each. */
static struct bend *sort_bends(const struct bend *bends, size_t n, size_t clocks)
{
    struct sort_key *keys = allocate(2 * n, sizeof *keys);
    struct bend *out = allocate(n, sizeof *out);
    size_t *place = allocate_zeroed(clocks + 1, sizeof *place);
    const struct sort_key *sorted;

    for (size_t i = 0; i < n; i++) {
        keys[i] = (struct sort_key){bends[i].time_ns, (uint32_t)i};
        place[bends[i].clock + 1]++;
    }
    for (size_t c = 0; c < clocks; c++)
        place[c + 1] += place[c];
    sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++)
        out[place[bends[sorted[i].index].clock]++] = bends[sorted[i].index];
    free(keys);
    free(place);
    return out;
}

/* Where the slopes change; in *count how often. The caller frees it. */
static struct bend *list_bends(const struct stretch *stretches, size_t n, size_t *count)
{
    struct bend *bends = allocate(2 * n, sizeof *bends);

    *count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct stretch *s = &stretches[i];
        uint64_t length = s->to_ns > s->from_ns ? s->to_ns - s->from_ns : 1;
        double slope = s->amount / (double)length;

        /* Most begin where the one before ended. */
        if (*count && bends[*count - 1].clock == s->clock &&
            bends[*count - 1].time_ns == s->from_ns)
            bends[*count - 1].slope += slope;
        else
            bends[(*count)++] = (struct bend){s->clock, s->from_ns, slope};
        bends[(*count)++] = (struct bend){s->clock, s->from_ns + length, -slope};
    }
    return bends;
}

struct access_clock *summed_clocks_create(const struct stretch *stretches, size_t n, size_t clocks)
{
    struct access_clock *out = allocate_zeroed(clocks + 1, sizeof *out);
    size_t count;
    struct bend *unsorted = list_bends(stretches, n, &count);
    struct bend *bends = sort_bends(unsorted, count, clocks);
    struct clock_tick *ticks = allocate(count, sizeof *ticks);

    free(unsorted);
    /* The ticks of all clocks lie in one array, which the first one owns. */
    out[0].ticks = ticks;
    for (size_t i = 0, end, tick = 0; i < count; i = end) {
        struct access_clock *clock = &out[bends[i].clock];
        double slope = 0, sum = 0;

        clock->ticks = ticks + tick;
        for (end = i; end < count && bends[end].clock == bends[i].clock; end++) {
            if (end > i)
                sum += slope * (double)(bends[end].time_ns - bends[end - 1].time_ns);
            slope += bends[end].slope;
            if (clock->count && clock->ticks[clock->count - 1].app_ns == bends[end].time_ns)
                continue;
            clock->ticks[clock->count++] = (struct clock_tick){bends[end].time_ns, sum, 0};
        }
        tick += clock->count;
    }
    free(bends);
    return out;
}

void summed_clocks_free(struct access_clock *clocks)
{
    if (clocks)
        free(clocks[0].ticks);
    free(clocks);
}
