/* SPDX-License-Identifier: BSD-3-Clause */
/* See burst_times.h. */
#include "analysis/rates/burst_times.h"

#include <stdlib.h>

#include "profile/probes.h"
#include "support/memory.h"

/* What a burst spends its time on: of an instruction, the part of its probes. */
struct execution {
    uint64_t ip;
    size_t burst; /* index */
    double weight;
};

struct executions {
    struct execution *list; /* sorted by ip */
    size_t count, capacity;
};

static int by_ip(const void *a, const void *b)
{
    const struct execution *x = a, *y = b;

    if (x->ip != y->ip)
        return x->ip < y->ip ? -1 : 1;
    return (x->burst > y->burst) - (x->burst < y->burst);
}

/* Groups of a burst come by instruction, so that those of one are added up as they come. */
static void add(struct executions *executions, struct execution execution)
{
    struct execution *last =
        executions->count > 0 ? &executions->list[executions->count - 1] : NULL;

    if (last && last->ip == execution.ip && last->burst == execution.burst) {
        last->weight += execution.weight;
        return;
    }
    if (executions->count == executions->capacity) {
        executions->capacity = 2 * executions->capacity + 64;
        executions->list =
            reallocate(executions->list, executions->capacity, sizeof *executions->list);
    }
    executions->list[executions->count++] = execution;
}

/* The time that a burst and each tick before it stand for. */
static double part_of(const struct record_progress *record, const struct record_burst *burst)
{
    unsigned parts = 1;

    for (unsigned k = 0; k < TICKS_MAX; k++)
        parts += record->ticks[k] != 0;
    return (double)burst->weight_ns / parts;
}

/* NULL: it has none whose place is known. */
static const struct record_burst *burst_of(const struct profile *profile,
                                           const struct record_progress *record, size_t *index)
{
    *index = profile_burst_index(profile, record->burst_id);
    return record->ip != 0 && *index < profile->bursts.count ? profile->bursts.items[*index] : NULL;
}

/* The beginning counts as one probe more: so every burst has an instruction. */
static void add_burst(struct executions *executions, const struct record_progress *record,
                      const struct record_burst *burst, size_t index)
{
    const double each = part_of(record, burst) / (burst->probes + 1.0);
    struct probe_count counts[PROBE_COUNTS_MAX];
    size_t sizes[PROBE_LINE_SIZES];
    struct probe_decoder decoder;
    struct probe_group group;

    add(executions, (struct execution){record->ip, index, each});
    probe_decoder_begin(&decoder, burst);
    while (probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes)) {
        double probes = 0;

        for (size_t i = 0; i < sizes[0]; i++)
            probes += counts[i].count;
        if (probes > 0)
            add(executions, (struct execution){group.ip, index, each * probes});
    }
}

/* Where those of the instruction begin that is nearest to ip. */
static size_t nearest(const struct executions *executions, uint64_t ip)
{
    const struct execution *list = executions->list;
    size_t low = 0, high = executions->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list[middle].ip < ip)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == executions->count || (low > 0 && ip - list[low - 1].ip < list[low].ip - ip)) {
        low--;
        while (low > 0 && list[low - 1].ip == list[low].ip)
            low--;
    }
    return low;
}

/* The time of ticks at an instruction goes to the bursts that executed it, by how likely each of
 * them was there. */
static void share(const struct executions *executions, const double *ticks_ns, double *times)
{
    const struct execution *list = executions->list;

    for (size_t i = 0, end; i < executions->count; i = end) {
        double all = 0;

        for (end = i; end < executions->count && list[end].ip == list[i].ip; end++)
            all += list[end].weight;
        for (size_t k = i; k < end; k++)
            times[list[k].burst] += ticks_ns[i] * list[k].weight / all;
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

static void list_executions(const struct profile *profile, struct executions *executions)
{
    size_t index;

    for (size_t i = 0; i < profile->progress.count; i++) {
        const struct record_progress *record = profile->progress.items[i];
        const struct record_burst *burst = burst_of(profile, record, &index);

        if (burst && burst->weight_ns > 0)
            add_burst(executions, record, burst, index);
    }
    if (executions->count > 0)
        qsort(executions->list, executions->count, sizeof *executions->list, by_ip);
}

/* Takes the time of ticks from the bursts that they came before, and adds it up by instruction:
 * ticks_ns has an element for each execution. */
static void take_ticks(const struct profile *profile, const struct executions *executions,
                       double *ticks_ns, double *times)
{
    size_t index;

    for (size_t i = 0; i < profile->progress.count; i++) {
        const struct record_progress *record = profile->progress.items[i];
        const struct record_burst *burst = burst_of(profile, record, &index);
        double part = burst ? part_of(record, burst) : 0;

        for (unsigned k = 0; k < TICKS_MAX && part > 0; k++) {
            if (record->ticks[k] == 0)
                continue;
            times[index] -= part;
            ticks_ns[nearest(executions, record->ticks[k])] += part;
        }
    }
}

void burst_times(const struct profile *profile, double *times)
{
    struct executions executions = {0};
    double *ticks_ns;

    for (size_t i = 0; i < profile->bursts.count; i++)
        times[i] = (double)profile->bursts.items[i]->weight_ns;
    list_executions(profile, &executions);
    ticks_ns = allocate_zeroed(executions.count, sizeof *ticks_ns);
    take_ticks(profile, &executions, ticks_ns, times);
    share(&executions, ticks_ns, times);
    free(ticks_ns);
    free(executions.list);
}
