/* SPDX-License-Identifier: BSD-3-Clause */
/* See burst_times.h. */
#include "analysis/rates/burst_times.h"

#include <stdlib.h>

#include "support/memory.h"

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

/* An instruction that bursts with a known place executed. */
struct place {
    uint64_t ip;
    uint32_t instruction; /* its number */
};

static int by_ip(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return (x->ip > y->ip) - (x->ip < y->ip);
}

/* places: those of which all[instruction] is above 0, sorted; returns their number. */
static size_t list_places(const struct burst_code *code, const double *all, struct place *places)
{
    size_t count = 0;

    for (size_t i = 0; i < code->ip_count; i++)
        if (all[i] > 0)
            places[count++] = (struct place){code->ips[i], (uint32_t)i};
    if (count > 0)
        qsort(places, count, sizeof *places, by_ip);
    return count;
}

/* The instruction of the place that is nearest to ip; count > 0. */
static uint32_t nearest(const struct place *places, size_t count, uint64_t ip)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (places[middle].ip < ip)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || (low > 0 && ip - places[low - 1].ip < places[low].ip - ip))
        low--;
    return places[low].instruction;
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

/* each[burst]: the time that a probe of it stands for, or 0; all[instruction]: the sum of that. */
static void weigh(const struct profile *profile, const struct burst_code *code, double *each,
                  double *all)
{
    size_t index;

    for (size_t i = 0; i < profile->progress.count; i++) {
        const struct record_progress *record = profile->progress.items[i];
        const struct record_burst *burst = burst_of(profile, record, &index);

        if (burst)
            each[index] = part_of(record, burst) / (burst->probes + 1.0);
    }
    for (size_t i = 0; i < code->execution_count; i++)
        all[code->executions[i].instruction] +=
            each[code->executions[i].burst] * (double)code->executions[i].probes;
}

/* Takes the time of ticks from the bursts that they came before, and adds it up by instruction. */
static void take_ticks(const struct profile *profile, const struct place *places, size_t count,
                       double *ticks_ns, double *times)
{
    size_t index;

    for (size_t i = 0; i < profile->progress.count && count > 0; i++) {
        const struct record_progress *record = profile->progress.items[i];
        const struct record_burst *burst = burst_of(profile, record, &index);
        double part = burst ? part_of(record, burst) : 0;

        for (unsigned k = 0; k < TICKS_MAX && part > 0; k++) {
            if (record->ticks[k] == 0)
                continue;
            times[index] -= part;
            ticks_ns[nearest(places, count, record->ticks[k])] += part;
        }
    }
}

void burst_times(const struct profile *profile, const struct burst_code *code, double *times)
{
    double *each = allocate_zeroed(profile->bursts.count, sizeof *each);
    double *all = allocate_zeroed(code->ip_count, sizeof *all);
    double *ticks_ns = allocate_zeroed(code->ip_count, sizeof *ticks_ns);
    struct place *places = allocate(code->ip_count, sizeof *places);

    for (size_t i = 0; i < profile->bursts.count; i++)
        times[i] = (double)profile->bursts.items[i]->weight_ns;
    weigh(profile, code, each, all);
    take_ticks(profile, places, list_places(code, all, places), ticks_ns, times);
    /* The time of ticks at an instruction goes to the bursts that executed it, by how likely each
     * of them was there. */
    for (size_t i = 0; i < code->execution_count; i++) {
        const struct execution *execution = &code->executions[i];

        if (ticks_ns[execution->instruction] > 0)
            times[execution->burst] += ticks_ns[execution->instruction] * each[execution->burst] *
                                       (double)execution->probes / all[execution->instruction];
    }
    free(each);
    free(all);
    free(ticks_ns);
    free(places);
}
