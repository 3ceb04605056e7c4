/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/access_costs.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/communication/contention.h"
#include "support/memory.h"

/*
 * Load-to-use latencies of current servers, rounded: 4 to 5 cycles in L1, 12 to 16 in L2, 40 to 70
 * in L3, 80 to 120 ns from memory (the vendors' optimization guides; what a pointer chase shows).
 */
static const double common_ns[] = {1.3, 4, 15};
static const double common_memory_ns = 90;

/* Accesses that hit overlap: two loads a cycle at most, and rarely less than one in two. */
static const double overlapped_hit_ns = 0.5;

/* Lines that follow each other are prefetched: 64 bytes at some 10 GB/s rather than 90 ns. */
static const double in_order_part = 0.08;

enum { THIRD = 2 };

/* Fewer loads from memory do not tell how long one takes. */
static const double memory_loads_min = 16;

/* What was timed in the run counts more than what is known of the machine: neighbours use the last
 * cache and the memory, too. */
static void measure_in_run(struct timed_lines timed, struct access_costs *costs)
{
    double *memory = &costs->latency_ns[costs->levels];

    if (timed.memory < memory_loads_min)
        return;
    costs->timed = timed.timed;
    *memory = costs->latency_ns[0] + timed.memory_ns;
    if (costs->levels == THIRD + 1)
        costs->latency_ns[THIRD] +=
            timed.third_from_memory * fmax(0, *memory - costs->latency_ns[THIRD]);
}

void access_costs_of(const struct machine *machine, struct timed_lines timed,
                     struct access_costs *costs)
{
    enum { COMMON = sizeof(common_ns) / sizeof(*common_ns) };

    *costs =
        (struct access_costs){.levels = machine->levels,
                              .hit_ns = overlapped_hit_ns,
                              .in_order = in_order_part,
                              .transfer_ns = machine->core_latency_ns > 0 ? machine->core_latency_ns
                                                                          : line_transfer_ns.value,
                              .measured = machine->latencies_measured,
                              .described = machine->levels > 0 && machine->memory_latency_ns > 0};
    for (size_t i = 0; i < machine->levels; i++) {
        double described = machine->caches[i].latency_ns;

        costs->described &= described > 0;
        costs->latency_ns[i] = described > 0 ? described
                               : i < COMMON  ? common_ns[i]
                                             : common_ns[COMMON - 1] * (double)(i - COMMON + 2);
    }
    costs->latency_ns[machine->levels] =
        machine->memory_latency_ns > 0 ? machine->memory_latency_ns : common_memory_ns;
    measure_in_run(timed, costs);
}

double access_cost_of_misses(const struct access_costs *costs, const double *miss_ratios,
                             struct line_reach reach)
{
    double sum = 0, crowded = 0;

    for (size_t i = 0; i < costs->levels; i++) {
        double part = i == 0 && costs->levels > 1 ? reach.waited : 1;
        double latency = fmax(0, costs->latency_ns[i + 1] - costs->latency_ns[i]);

        sum += part * miss_ratios[i] * latency;
        if (i == 0)
            crowded = part * fmax(0, reach.crowded - miss_ratios[i]) * latency;
    }
    return (reach.in_order ? costs->in_order * sum : sum) + crowded;
}

/* Where the latencies come from; static storage or of *text, which the caller frees. */
static const char *source_of(const struct access_costs *costs, const struct machine *machine,
                             char **text)
{
    const char *source = costs->measured    ? "measured"
                         : costs->described ? "of the machine's description"
                                            : "assumed";

    if (costs->timed > 0)
        return *text = format_string(
                   "%s%.0f loads timed in the run; else %s",
                   costs->levels > THIRD ? "L3 and memory: " : "memory: ", costs->timed, source);
    if ((costs->measured || costs->described) && !(machine->core_latency_ns > 0))
        return *text = format_string("%s; the last assumed", source);
    return source;
}

/* Where all that was timed of the last cache came from memory, the two have one number. */
static bool last_cache_is_memory(const struct access_costs *costs)
{
    double memory = costs->latency_ns[costs->levels];

    return costs->levels > 1 &&
           fabs(costs->latency_ns[costs->levels - 1] - memory) < 0.005 * memory;
}

char *access_costs_text(const struct access_costs *costs, const struct machine *machine)
{
    char *text = copy_string(""), *longer, *own = NULL;
    bool together = last_cache_is_memory(costs);

    for (size_t i = 1; i < costs->levels; i++) {
        longer = together && i + 1 == costs->levels
                     ? format_string("%sL%u and ", text, machine->caches[i].level)
                     : format_string("%sL%u %.3g, ", text, machine->caches[i].level,
                                     costs->latency_ns[i]);
        free(text);
        text = longer;
    }
    longer = format_string("%smemory %.3g, another core %.3g ns (%s)", text,
                           costs->latency_ns[costs->levels], costs->transfer_ns,
                           source_of(costs, machine, &own));
    free(own);
    free(text);
    return longer;
}
