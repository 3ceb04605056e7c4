/* SPDX-License-Identifier: BSD-3-Clause */
/* Used in handlers, but for cost_print(), which writes with stdio when all is over. */
#include "bursts/cost_account.h"

#ifdef REUSE_COST_ACCOUNT

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "perf_events/perf_event.h"
#include "perf_events/timebase.h"

enum {
    KINDS = 8,
    /* Some milliseconds: who takes so long was not running. */
    PREEMPTED_TICKS = 4 * 1000 * 1000,
};

static const char *const part_names[COST_PARTS] = {
    [COST_OTHER] = "other",
    [COST_CPU_CLOCK] = "CPU clock",
    [COST_PERIOD] = "period",
    [COST_UNWINDING] = "unwinding",
    [COST_INTERPRETATION] = "interpretation",
    [COST_PURSUIT] = "pursuit",
    [COST_DISTANCES] = "distances",
    [COST_OBJECTS] = "objects",
    [COST_CONTEXTS] = "contexts",
    [COST_WRITING] = "writing",
    [COST_MARKER] = "marker",
    [COST_ARMING] = "arming",
    [COST_SAMPLE] = "communication",
    [COST_VISIT] = "visits",
    [COST_RATE] = "looks and variables",
    [COST_GOVERNOR] = "governor",
};

static const char *const kind_names[KINDS] = {
    [EVENT_CLOCK] = "expiries",
    [EVENT_WATCH] = "traps",
    [EVENT_SHARED_WATCH] = "shared traps",
    [EVENT_STEP] = "steps",
};

/* Of all threads, ns. */
static _Atomic uint64_t spent[KINDS][COST_PARTS], entries[KINDS], hidden[KINDS];

/* Of the handler under way. */
static __thread struct {
    unsigned kind;
    enum cost_part part;
    uint64_t since;
} now __attribute__((tls_model("initial-exec")));

/* Ticks per ns from the run's own length: begun with the first handler. */
static _Atomic uint64_t first_ticks, first_ns;

void cost_begin(unsigned kind)
{
    now.kind = kind % KINDS;
    now.part = COST_OTHER;
    now.since = arch_ticks();
    if (atomic_load(&first_ticks) == 0) {
        atomic_store(&first_ticks, now.since);
        atomic_store(&first_ns, monotonic_ns());
    }
}

enum cost_part cost_enter(enum cost_part part)
{
    enum cost_part before = now.part;
    uint64_t time = arch_ticks();

    if (time - now.since < PREEMPTED_TICKS)
        atomic_fetch_add_explicit(&spent[now.kind][before], time - now.since, memory_order_relaxed);
    now.part = part;
    now.since = time;
    return before;
}

void cost_leave(enum cost_part before)
{
    cost_enter(before);
}

void cost_end(uint64_t hidden_ns)
{
    cost_enter(COST_OTHER);
    atomic_fetch_add_explicit(&entries[now.kind], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&hidden[now.kind], hidden_ns, memory_order_relaxed);
}

void cost_print(void)
{
    const char *path = getenv("REUSE_COSTS");
    FILE *file = path ? fopen(path, "a") : stderr;
    double per_us =
        (double)(arch_ticks() - first_ticks) / ((double)(monotonic_ns() - first_ns) / 1e3);

    if (!file)
        return;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        double n = (double)entries[kind], sum = (double)hidden[kind] / 1e3;

        if (n <= 0)
            continue;
        for (unsigned part = 0; part < COST_PARTS; part++)
            sum += (double)spent[kind][part] / per_us;
        (void)fprintf(file, "%-14s %8.0f  %8.1f us each; kernel entry %.1f", kind_names[kind], n,
                      sum / n, (double)hidden[kind] / 1e3 / n);
        for (unsigned part = 0; part < COST_PARTS; part++)
            if (spent[kind][part])
                (void)fprintf(file, ", %s %.1f", part_names[part],
                              (double)spent[kind][part] / per_us / n);
        (void)fprintf(file, "\n");
    }
    (void)fflush(file);
}

#endif
