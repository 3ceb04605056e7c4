/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/ticks.h"

#include "signal_safe.h"

enum {
    /* Between two of them, at least. */
    PART_NS_LEAST = 1000 * 1000
};

/* The largest n with (n + 1)^2 <= b / t, b being what is left of a turn without n ticks. */
static uint64_t best_number(uint64_t turn_ns, uint64_t signal_ns)
{
    /* Setting the clock and reading it cost half as much as the signal: 82 of 57 us in a virtual
     * machine. */
    uint64_t tick_ns = signal_ns + signal_ns / 2, n = 0;

    while (n < TICKS_MAX && ((n + 2) * (n + 2) + n + 1) * tick_ns <= turn_ns)
        n++;
    return n;
}

void ticks_begin(struct ticks *ticks)
{
    *ticks = (struct ticks){0};
}

uint64_t ticks_plan(struct ticks *ticks, uint64_t mean_ns, uint64_t turn_ns, uint64_t signal_ns)
{
    uint64_t n = best_number(turn_ns, signal_ns);

    if (n >= mean_ns / PART_NS_LEAST)
        n = mean_ns >= PART_NS_LEAST ? mean_ns / PART_NS_LEAST - 1 : 0;
    ticks->count = 0;
    ticks->parts = (unsigned)n;
    ticks->part_ns = mean_ns / (n + 1);
    return ticks->part_ns;
}

bool ticks_take(struct ticks *ticks, uint64_t ip, const struct seen_code *seen, uint64_t *early_ns)
{
    *early_ns = 0;
    if (ticks->parts == 0)
        return false;
    if (ip && !seen_code_has(seen, ip)) {
        *early_ns = ticks->parts * ticks->part_ns;
        ticks->parts = 0;
        return false;
    }
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
