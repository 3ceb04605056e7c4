/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/ticks.h"

#include "process/settings.h"

#include "signal_safe.h"

enum {
    /* What the ticks before one burst may cost together: a tenth of what a burst does. */
    TICKS_NS = 40 * 1000,
    /* A tick beside what its signal costs. */
    HANDLER_NS = 3000,
    /* Between two of them, at least. */
    PART_NS_LEAST = 1000 * 1000
};

uint64_t ticks_plan(struct ticks *ticks, uint64_t mean_ns)
{
    uint64_t n = TICKS_NS / (settings.trigger_ns + HANDLER_NS);

    if (n > TICKS_MAX)
        n = TICKS_MAX;
    if (n >= mean_ns / PART_NS_LEAST)
        n = mean_ns >= PART_NS_LEAST ? mean_ns / PART_NS_LEAST - 1 : 0;
    ticks->count = 0;
    ticks->parts = (unsigned)n;
    ticks->part_ns = mean_ns / (n + 1);
    return ticks->part_ns;
}

bool ticks_take(struct ticks *ticks, uint64_t ip)
{
    if (ticks->parts == 0)
        return false;
    ticks->parts--;
    ticks->taken = true;
    if (ip && ticks->count < TICKS_MAX)
        ticks->ips[ticks->count++] = ip;
    return true;
}

bool ticks_go_on(struct ticks *ticks, uint64_t *mean_ns)
{
    if (!ticks->taken)
        return false;
    ticks->taken = false;
    *mean_ns = ticks->part_ns;
    return true;
}

void ticks_list(const struct ticks *ticks, uint64_t ips[TICKS_MAX])
{
    for (unsigned i = 0; i < TICKS_MAX; i++)
        ips[i] = i < ticks->count ? ticks->ips[i] : 0;
}
