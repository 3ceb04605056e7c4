/* SPDX-License-Identifier: BSD-3-Clause */
/* See exact_tally.h. */
#include "reuse/exact_tally.h"

#include <stdlib.h>
#include <string.h>

void exact_tallies_destroy(struct exact_tallies *tallies)
{
    for (uint32_t i = 0; i < tallies->capacity; i++)
        free(tallies->items[i]);
    free(tallies->items);
    memset(tallies, 0, sizeof *tallies);
}

struct exact_tally *exact_tallies_grow(struct exact_tallies *tallies, uint32_t region)
{
    if (region >= tallies->capacity) {
        uint32_t capacity = region + region / 2 + 4;
        struct exact_tally **items = realloc(tallies->items, capacity * sizeof *items);
        if (items == NULL)
            return NULL;
        memset(items + tallies->capacity, 0, (capacity - tallies->capacity) * sizeof *items);
        tallies->items = items;
        tallies->capacity = capacity;
    }
    tallies->items[region] = calloc(1, sizeof *tallies->items[region]);
    return tallies->items[region];
}

void exact_tallies_add(struct exact_tallies *into, const struct exact_tallies *from)
{
    for (uint32_t region = 0; region < from->capacity; region++) {
        const struct exact_tally *more = from->items[region];
        struct exact_tally *tally = more != NULL ? exact_tallies_at(into, region) : NULL;
        if (more == NULL)
            continue;
        if (tally == NULL) {
            into->lost += more->accesses;
            continue;
        }
        tally->accesses += more->accesses;
        tally->cold += more->cold;
        for (uint32_t bin = 0; bin < EXACT_BIN_COLD; bin++)
            tally->distance[bin] += more->distance[bin];
    }
    into->lost += from->lost;
}

static void add_count(void *context, const struct exact_cell *cell, unsigned line_size,
                      uint32_t bin, uint64_t count)
{
    struct exact_tallies *tallies = context;
    struct exact_tally *tally = line_size == 0 ? exact_tallies_at(tallies, cell->region) : NULL;
    if (line_size != 0)
        return;
    if (tally == NULL) {
        tallies->lost += count;
        return;
    }
    tally->accesses += count;
    if (bin == EXACT_BIN_COLD)
        tally->cold += count;
    else
        tally->distance[bin] += count;
}

void exact_tallies_add_counts(struct exact_tallies *into, const struct exact_counts *from)
{
    exact_counts_each(from, add_count, into);
}
