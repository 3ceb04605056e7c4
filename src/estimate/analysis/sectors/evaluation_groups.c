/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of many subsets by one walk over the probes: burst by burst, and in each of them subset by
 * subset, so that every sum adds up in the order in which evaluate() does it for one of them. A
 * walk for each would find the probes of most subsets scattered over all of memory.
 */
#include "analysis/sectors/evaluation_groups.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/curves/memory_bound.h"
#include "analysis/sectors/evaluation_parts.h"
#include "reuse/sort_keys.h"
#include "support/memory.h"

enum { SUBSET_SHIFT = 32, NO_SUBSET = 0 };

/* Open probes by subset, above SUBSET_SHIFT, and stratum. */
struct open_sum {
    uint64_t key;
    double weight;
};

/* Open addressing; free where the weight is below 0. At most half full. */
struct open_sums {
    struct open_sum *slots;
    size_t room, count; /* room: a power of two */
};

struct walk {
    const struct analysis *analysis;
    const struct places *places;
    const struct subset *subsets;
    size_t count;
    uint32_t *subset_of; /* by probe: its subset's number + 1 */
    struct parts parts;  /* of one burst and subset */
    double *all;         /* by subset */
    double *missed;      /* [subset][place] */
    struct open_sums opens;
};

static double *slot_of(struct open_sums *sums, uint64_t key)
{
    size_t at = (key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (sums->room - 1);

    while (sums->slots[at].weight >= 0 && sums->slots[at].key != key)
        at = (at + 1) & (sums->room - 1);
    sums->slots[at].key = key;
    return &sums->slots[at].weight;
}

static void make_room(struct open_sums *sums)
{
    struct open_sums larger = {.room = sums->room ? 2 * sums->room : 1024, .count = sums->count};

    if (2 * (sums->count + 1) <= sums->room)
        return;
    larger.slots = allocate(larger.room, sizeof *larger.slots);
    for (size_t i = 0; i < larger.room; i++)
        larger.slots[i].weight = -1;
    for (size_t i = 0; i < sums->room; i++)
        if (sums->slots[i].weight >= 0)
            *slot_of(&larger, sums->slots[i].key) = sums->slots[i].weight;
    free(sums->slots);
    *sums = larger;
}

static void add_open(struct open_sums *sums, uint64_t key, double weight)
{
    double *sum;

    make_room(sums);
    sum = slot_of(sums, key);
    sums->count += *sum < 0;
    *sum = (*sum < 0 ? 0 : *sum) + weight;
}

static void label_probes(struct walk *walk)
{
    walk->subset_of = allocate_zeroed(walk->analysis->probe_count + 1, sizeof *walk->subset_of);
    for (size_t s = 0; s < walk->count; s++)
        for (size_t k = 0; k < walk->subsets[s].member_count; k++)
            walk->subset_of[walk->subsets[s].members[k]] = (uint32_t)s + 1;
}

/* What one burst has of one subset. */
static void end_part(struct walk *walk, uint32_t subset)
{
    const struct part *part = &walk->parts.items[0];
    double weight = walk->analysis->bursts[part->burst].weight;
    double *missed = walk->missed + subset * walk->places->n;

    if (walk->parts.count == 0)
        return;
    walk->all[subset] += weight * part->probes;
    for (size_t k = 0; k < walk->places->n; k++) {
        missed[k] += weight * part->resolved[k];
        part->resolved[k] = 0;
    }
    for (size_t k = part->first; k < part->first + part->opens; k++)
        add_open(&walk->opens, (uint64_t)subset << SUBSET_SHIFT | walk->parts.opens[k].stratum,
                 weight * walk->parts.opens[k].count);
    walk->parts.count = walk->parts.open_count = 0;
}

/* keys: room for twice the burst's probes. */
static void walk_burst(struct walk *walk, const struct analysed_burst *burst, struct sort_key *keys)
{
    const struct analysis *analysis = walk->analysis;
    const struct sort_key *sorted;
    size_t n = 0;

    for (uint32_t i = burst->first_probe; i < burst->first_probe + burst->probe_count; i++)
        if (walk->subset_of[i] != NO_SUBSET && analysis->probes[i].count > 0)
            keys[n++] = (struct sort_key){walk->subset_of[i] - 1, i};
    sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++) {
        const struct analysed_probe *probe = &analysis->probes[sorted[i].index];
        uint32_t subset = (uint32_t)sorted[i].key;

        parts_add(analysis, walk->places, probe,
                  walk->subsets[subset].objects ? analysis_object_factor(analysis, probe) : 1,
                  &walk->parts);
        if (i + 1 == n || sorted[i + 1].key != subset)
            end_part(walk, subset);
    }
}

static void walk_bursts(struct walk *walk)
{
    const struct analysis *analysis = walk->analysis;
    size_t most = 0;
    struct sort_key *keys;

    for (size_t i = 0; i < analysis->burst_count; i++)
        if (analysis->bursts[i].probe_count > most)
            most = analysis->bursts[i].probe_count;
    parts_create(walk->places, 1, most, &walk->parts);
    keys = allocate(2 * most + 1, sizeof *keys);
    for (size_t i = 0; i < analysis->burst_count; i++)
        walk_burst(walk, &analysis->bursts[i], keys);
    free(keys);
    parts_free(&walk->parts);
}

/* The open sums in order of subset and stratum; the caller frees them. */
static struct open_sum *sorted_opens(const struct open_sums *sums)
{
    struct sort_key *keys = allocate(2 * sums->count + 1, sizeof *keys), *sorted;
    struct open_sum *opens = allocate(sums->count + 1, sizeof *opens);
    size_t n = 0;

    for (size_t i = 0; i < sums->room; i++)
        if (sums->slots[i].weight >= 0)
            keys[n++] = (struct sort_key){sums->slots[i].key, (uint32_t)i};
    sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++)
        opens[i] = sums->slots[sorted[i].index];
    free(keys);
    return opens;
}

static void add_opens(const struct walk *walk, struct miss_shares *shares)
{
    struct open_sum *opens = sorted_opens(&walk->opens);
    size_t n = walk->places->n, replicates = replicate_count(walk->analysis);

    for (size_t k = 0; k < n; k++) {
        const struct miss_shares *of = open_lines_at_size(walk->analysis, walk->places->lines[k]);

        for (size_t i = 0; i < walk->opens.count; i++)
            if (opens[i].weight > 0)
                shares_add(&shares[(opens[i].key >> SUBSET_SHIFT) * n + k],
                           &of[(uint32_t)opens[i].key * replicates], opens[i].weight);
    }
    free(opens);
}

void evaluate_groups(const struct analysis *analysis, const struct subset *subsets, size_t count,
                     const double *lines, size_t n, struct miss_shares *shares)
{
    const struct places places = {.lines = lines, .n = n, .value_only = true};
    struct walk walk = {.analysis = analysis,
                        .places = &places,
                        .subsets = subsets,
                        .count = count,
                        .all = allocate_zeroed(count + 1, sizeof *walk.all),
                        .missed = allocate_zeroed(count * n + 1, sizeof *walk.missed)};

    label_probes(&walk);
    walk_bursts(&walk);
    for (size_t i = 0; i < count * n; i++)
        shares[i] = (struct miss_shares){.missed = walk.missed[i]};
    add_opens(&walk, shares);
    for (size_t i = 0; i < count * n; i++) {
        shares_divide(&shares[i], walk.all[i / n]);
        memory_bound_apply(&analysis->memory, lines[i % n], walk.all[i / n], &shares[i]);
    }
    free(walk.subset_of);
    free(walk.all);
    free(walk.missed);
    free(walk.opens.slots);
}
