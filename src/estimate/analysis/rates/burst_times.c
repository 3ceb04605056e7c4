/* SPDX-License-Identifier: BSD-3-Clause */
/* See burst_times.h. */
#include "analysis/rates/burst_times.h"

#include <stdlib.h>

#include "support/memory.h"
/* Where a burst began, and what it stands for. */
struct beginning {
    uint64_t ip, loop;
    size_t burst; /* index */
    double time;
    const struct record_progress *record;
};

/* A place: bursts that began next to each other in the code, in one loop. */
struct place {
    uint64_t first, last; /* where they began */
    double own, found;    /* their time; the time that all ticks and bursts give the place */
};

static int by_ip(const void *a, const void *b)
{
    const struct beginning *x = a, *y = b;

    if (x->ip != y->ip)
        return x->ip < y->ip ? -1 : 1;
    return (x->burst > y->burst) - (x->burst < y->burst);
}

static size_t list_beginnings(const struct profile *profile, struct beginning *list)
{
    size_t n = 0;

    for (size_t i = 0; i < profile->progress.count; i++) {
        const struct record_progress *record = profile->progress.items[i];
        size_t burst = profile_burst_index(profile, record->burst_id);

        if (record->ip == 0 || burst >= profile->bursts.count)
            continue;
        list[n++] = (struct beginning){
            .ip = record->ip,
            .loop = record->loop,
            .burst = burst,
            .time = (double)profile->bursts.items[burst]->weight_ns,
            .record = record,
        };
    }
    qsort(list, n, sizeof *list, by_ip);
    return n;
}

static size_t list_places(const struct beginning *list, size_t n, struct place *places,
                          size_t *place_of)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        if (i == 0 || list[i].loop != list[i - 1].loop)
            places[count++] = (struct place){.first = list[i].ip};
        places[count - 1].last = list[i].ip;
        places[count - 1].own += list[i].time;
        place_of[i] = count - 1;
    }
    return count;
}

/* The place that ip belongs to: the nearest. */
static struct place *nearest(struct place *places, size_t count, uint64_t ip)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (places[middle].first <= ip)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return &places[0];
    if (low == count || ip <= places[low - 1].last ||
        ip - places[low - 1].last < places[low].first - ip)
        return &places[low - 1];
    return &places[low];
}

static void share(const struct beginning *list, size_t n, struct place *places, size_t count,
                  const size_t *place_of)
{
    for (size_t i = 0; i < n; i++) {
        const struct record_progress *record = list[i].record;
        unsigned ticks = 0;
        double part;

        for (unsigned k = 0; k < TICKS_MAX; k++)
            ticks += record->ticks[k] != 0;
        part = list[i].time / (ticks + 1);
        places[place_of[i]].found += part;
        for (unsigned k = 0; k < TICKS_MAX; k++)
            if (record->ticks[k])
                nearest(places, count, record->ticks[k])->found += part;
    }
}

double burst_expiries(const struct profile *profile, uint32_t thread_id)
{
    const struct record_totals *totals = profile_thread_totals(profile, thread_id);

    if (!totals || totals->bursts == 0)
        return 1;
    return 1 + (double)(totals->lost[LOSS_UNREADABLE] + totals->lost[LOSS_BUFFER] +
                        totals->lost[LOSS_IN_RUNTIME]) /
                   (double)totals->bursts;
}

void burst_times(const struct profile *profile, double *times)
{
    size_t n = profile->progress.count, count;
    struct beginning *list = allocate(n, sizeof *list);
    struct place *places = allocate(n, sizeof *places);
    size_t *place_of = allocate(n, sizeof *place_of);

    for (size_t i = 0; i < profile->bursts.count; i++)
        times[i] = (double)profile->bursts.items[i]->weight_ns;
    n = list_beginnings(profile, list);
    count = list_places(list, n, places, place_of);
    share(list, n, places, count, place_of);
    for (size_t i = 0; i < n; i++)
        if (places[place_of[i]].own > 0)
            times[list[i].burst] *= places[place_of[i]].found / places[place_of[i]].own;
    free(list);
    free(places);
    free(place_of);
}
