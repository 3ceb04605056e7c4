/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared caches: which bursts and samples belong to one group of a process's threads, and so to one
 * domain. Processes are apart: what they have in common is not seen.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "support/memory.h"

uint32_t analysis_group_of(const struct analysis *analysis, uint16_t cpu)
{
    const struct cache_groups *groups = analysis->options.groups;

    return !analysis->simulated_cores && cpu < groups->cpus ? groups->of_cpu[cpu] : 0;
}

struct group_key {
    uint32_t profile, origin, group;
};

static int compare_keys(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct group_key));
}

static struct group_key key_of(const struct analysis *analysis, uint32_t profile,
                               uint32_t thread_id, uint16_t cpu)
{
    const struct record_thread *thread = profile_thread(analysis->profiles[profile], thread_id);

    return (struct group_key){profile, thread ? thread->origin_id : 0,
                              analysis_group_of(analysis, cpu)};
}

static struct group_key key_of_burst(const struct analysis *analysis,
                                     const struct analysed_burst *burst)
{
    return key_of(analysis, burst->profile, burst->record->thread_id, burst->record->cpu);
}

/* A sample is in its burst's group; one of a turn, where its thread was seen. */
static struct group_key key_of_sample(const struct analysis *analysis,
                                      const struct analysed_sample *sample)
{
    if (sample->burst != NO_BURST)
        return key_of_burst(analysis, &analysis->bursts[sample->burst]);
    return key_of(analysis, sample->profile, sample->record->thread_id, sample->record->cpu);
}

static size_t list_key(struct group_key *keys, size_t listed, struct group_key key)
{
    /* What follows one another mostly belongs together. */
    if (listed == 0 || compare_keys(&keys[listed - 1], &key) != 0)
        keys[listed++] = key;
    return listed;
}

static uint32_t find_key(const struct group_key *keys, size_t count, struct group_key key)
{
    const struct group_key *found = bsearch(&key, keys, count, sizeof *keys, compare_keys);

    return (uint32_t)(found - keys);
}

void analysis_divide_into_groups(struct analysis *analysis)
{
    struct group_key *keys = allocate(analysis->burst_count + analysis->count, sizeof *keys);
    size_t listed = 0, count = 0;

    for (size_t i = 0; i < analysis->burst_count; i++)
        listed = list_key(keys, listed, key_of_burst(analysis, &analysis->bursts[i]));
    for (size_t i = 0; i < analysis->count; i++)
        listed = list_key(keys, listed, key_of_sample(analysis, &analysis->samples[i]));
    qsort(keys, listed, sizeof *keys, compare_keys);
    for (size_t i = 0; i < listed; i++)
        if (count == 0 || compare_keys(&keys[count - 1], &keys[i]) != 0)
            keys[count++] = keys[i];
    analysis->domains = allocate_zeroed(count + 1, sizeof *analysis->domains);
    analysis->domain_count = count;
    for (size_t i = 0; i < analysis->burst_count; i++) {
        struct analysed_burst *burst = &analysis->bursts[i];

        burst->domain = find_key(keys, count, key_of_burst(analysis, burst));
        analysis->domains[burst->domain].bursts++;
        analysis->domains[burst->domain].accesses += burst->accesses;
    }
    for (size_t i = 0; i < analysis->count; i++)
        analysis->samples[i].domain =
            find_key(keys, count, key_of_sample(analysis, &analysis->samples[i]));
    free(keys);
}
