/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/ticks.h"

#include <stdatomic.h>

#include "large_table.h"
#include "process/settings.h"
#include "sampling/seen_code.h"

#include "signal_safe.h"

enum {
    /* Between two of them, at least. */
    PART_NS_LEAST = 1000 * 1000
};

static LARGE_TABLE struct seen_code seen;
static _Atomic bool of_parent; /* what is in it */

/* A forked child has bursts of its own. Most end without one, and do not touch the table. */
static struct seen_code *seen_here(void)
{
    if (atomic_load_explicit(&of_parent, memory_order_relaxed) &&
        atomic_exchange(&of_parent, false))
        seen_code_clear(&seen);
    return &seen;
}

/* The largest n with (n + 1)^2 <= b / t, b being what is left of a turn without n ticks. */
static uint64_t best_number(uint64_t turn_ns)
{
    /* Setting the clock and reading it cost half as much as the signal: 82 of 57 us in a virtual
     * machine. */
    uint64_t tick_ns = settings.trigger_ns + settings.trigger_ns / 2, n = 0;

    while (n < TICKS_MAX && ((n + 2) * (n + 2) + n + 1) * tick_ns <= turn_ns)
        n++;
    return n;
}

uint64_t ticks_plan(struct ticks *ticks, uint64_t mean_ns, uint64_t turn_ns)
{
    uint64_t n = best_number(turn_ns);

    if (n >= mean_ns / PART_NS_LEAST)
        n = mean_ns >= PART_NS_LEAST ? mean_ns / PART_NS_LEAST - 1 : 0;
    ticks->count = 0;
    ticks->parts = (unsigned)n;
    ticks->part_ns = mean_ns / (n + 1);
    return ticks->part_ns;
}

bool ticks_take(struct ticks *ticks, uint64_t ip, uint64_t *early_ns)
{
    *early_ns = 0;
    if (ticks->parts == 0)
        return false;
    if (ip && !seen_code_has(seen_here(), ip)) {
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

void ticks_learn(const struct access *accesses, size_t n)
{
    seen_code_add(seen_here(), accesses, n);
}

void ticks_after_fork(void)
{
    atomic_store_explicit(&of_parent, true, memory_order_relaxed);
}
