/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strata: open probes whose waits are estimated together, because one piece of code left them.
 * How many watches are evicted differs between the parts of a program, so that censoring tells
 * something about the wait unless like is compared with like. An instruction with too few watches
 * of its own shares a stratum with the code around it, or with all others.
 */
#include <stdlib.h>

#include "analysis/internal.h"
#include "reuse/sort_keys.h"
#include "support/memory.h"

enum {
    /* Watches that a stratum of its own needs: of each observer, for whom those that see all count
     * as well; and in all. Fewer leave too much to chance; more join what differs (simulated:
     * docs/estimators.md). */
    EACH_MIN = 6,
    ALL_MIN = 8,
    CODE_BITS = 10, /* code around an instruction: so large a block */
    LEVELS = 2,
    PROFILE_SHIFT = 52, /* of the profile's number, above any address of code */
};

/* What is known by one key: an instruction, or a block of code. */
struct known_code {
    uint64_t key;
    uint32_t stratum;
};

struct code_table {
    struct known_code *items; /* ascending by key */
    size_t count;
};

static uint64_t key_of(uint32_t profile, uint64_t ip, unsigned level)
{
    return (ip >> (level ? CODE_BITS : 0)) ^ (uint64_t)profile << PROFILE_SHIFT;
}

static bool stands_alone(const struct analysis *analysis, const struct sort_key *members, size_t n)
{
    size_t accessed = 0, other = 0, whole = 0;

    for (size_t i = 0; i < n; i++) {
        const struct open_watch *open = &analysis->watches[members[i].index].open;

        whole += open->whole;
        accessed += open->accessed && !open->whole;
        other += !open->accessed;
    }
    return n >= ALL_MIN && accessed + whole >= EACH_MIN && other + whole >= EACH_MIN;
}

/* Gives watches of equal key that stand alone a stratum; the others stay in `members`, which has
 * room for twice as many. Returns how many they are. */
static size_t take_level(struct analysis *analysis, struct sort_key *members, size_t n,
                         unsigned level, struct code_table *table)
{
    size_t left = 0;

    for (size_t i = 0; i < n; i++) {
        const struct analysed_watch *watch = &analysis->watches[members[i].index];

        members[i].key = key_of(analysis->bursts[watch->burst].profile, watch->record->ip, level);
    }
    const struct sort_key *sorted = sort_keys(members, members + n, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && sorted[end].key == sorted[i].key; end++)
            ;
        bool alone = stands_alone(analysis, sorted + i, end - i);
        for (size_t k = i; k < end; k++) {
            if (alone)
                analysis->watches[sorted[k].index].stratum = (uint32_t)analysis->stratum_count;
            else
                members[left++] = sorted[k];
        }
        if (alone)
            table->items[table->count++] =
                (struct known_code){sorted[i].key, (uint32_t)analysis->stratum_count++};
    }
    return left;
}

static const struct known_code *find(const struct code_table *table, uint64_t key)
{
    size_t low = 0, high = table->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->items[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->count && table->items[low].key == key ? &table->items[low] : NULL;
}

static uint32_t stratum_of(const struct code_table tables[LEVELS], uint32_t profile, uint64_t ip,
                           uint32_t rest)
{
    for (unsigned level = 0; level < LEVELS; level++) {
        const struct known_code *known = find(&tables[level], key_of(profile, ip, level));

        if (known)
            return known->stratum;
    }
    return rest;
}

static void order_by_stratum(struct analysis *analysis)
{
    analysis->strata = allocate_zeroed(analysis->stratum_count + 1, sizeof *analysis->strata);
    analysis->by_stratum = allocate(analysis->watch_count + 1, sizeof *analysis->by_stratum);
    for (size_t i = 0; i < analysis->watch_count; i++)
        analysis->strata[analysis->watches[i].stratum].count++;
    for (size_t g = 1; g < analysis->stratum_count; g++)
        analysis->strata[g].first = analysis->strata[g - 1].first + analysis->strata[g - 1].count;
    for (size_t g = 0; g < analysis->stratum_count; g++)
        analysis->strata[g].count = 0;
    for (size_t i = 0; i < analysis->watch_count; i++) {
        struct stratum *stratum = &analysis->strata[analysis->watches[i].stratum];
        stratum->ended += analysis->watches[i].open.end != OPEN_CENSORED;
        analysis->by_stratum[stratum->first + stratum->count++] = (uint32_t)i;
    }
}

/* Mean stack distance up to the ends of their bursts, of each stratum's open probes. */
static void measure_distances(struct analysis *analysis)
{
    double *weights = allocate_zeroed(analysis->stratum_count + 1, sizeof *weights);

    for (size_t i = 0; i < analysis->probe_count; i++) {
        const struct analysed_probe *probe = &analysis->probes[i];
        struct stratum *stratum = &analysis->strata[analysis->stratum_of[i]];
        double weight = analysis->bursts[probe->burst].weight;

        weights[analysis->stratum_of[i]] += weight * probe->open;
        for (uint32_t k = probe->first; k < probe->first + probe->entries && probe->open; k++) {
            const struct probe_count *entry = &analysis->counts[k];

            if (probe_code_open(entry->code))
                stratum->distance +=
                    weight * entry->count * probe_distance_low(probe_code_distance(entry->code));
        }
    }
    for (size_t g = 0; g < analysis->stratum_count; g++)
        analysis->strata[g].distance /= weights[g] > 0 ? weights[g] : 1;
    free(weights);
}

void analysis_stratify(struct analysis *analysis)
{
    size_t n = analysis->watch_count, left = n;
    struct sort_key *members = allocate(2 * n + 1, sizeof *members);
    struct code_table tables[LEVELS] = {0};

    for (unsigned level = 0; level < LEVELS; level++)
        tables[level].items = allocate(n / EACH_MIN + 1, sizeof *tables[level].items);
    for (size_t i = 0; i < n; i++)
        members[i].index = (uint32_t)i;
    for (unsigned level = 0; level < LEVELS; level++)
        left = take_level(analysis, members, left, level, &tables[level]);
    /* The last stratum is everybody else's. */
    uint32_t rest = (uint32_t)analysis->stratum_count++;
    for (size_t i = 0; i < left; i++)
        analysis->watches[members[i].index].stratum = rest;
    analysis->stratum_of = allocate(analysis->probe_count + 1, sizeof *analysis->stratum_of);
    for (size_t i = 0; i < analysis->probe_count; i++) {
        const struct analysed_probe *probe = &analysis->probes[i];
        uint32_t profile = analysis->bursts[probe->burst].profile;

        analysis->stratum_of[i] =
            i > 0 && probe->last_ip == probe[-1].last_ip && probe->burst == probe[-1].burst
                ? analysis->stratum_of[i - 1]
                : stratum_of(tables, profile, probe->last_ip, rest);
    }
    for (size_t i = 0; i < analysis->crossing_count; i++) {
        struct crossing *crossing = &analysis->crossings[i];
        uint32_t profile = analysis->bursts[crossing->burst].profile;

        crossing->stratum = stratum_of(tables, profile, crossing->ip, rest);
    }
    order_by_stratum(analysis);
    measure_distances(analysis);
    for (unsigned level = 0; level < LEVELS; level++)
        free(tables[level].items);
    free(members);
}
