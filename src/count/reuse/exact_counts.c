/* SPDX-License-Identifier: BSD-3-Clause */
/* See exact_counts.h. Both tables are open addressing with linear probing; nothing is removed. */
#include "reuse/exact_counts.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CELLS = 256, FIRST_FAR = 1024 };

static uint64_t mixed(uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u;
    return key ^ key >> 32;
}

bool exact_counts_create(struct exact_counts *counts, unsigned line_sizes)
{
    memset(counts, 0, sizeof *counts);
    counts->line_sizes = line_sizes;
    counts->cell_capacity = FIRST_CELLS;
    counts->index_size = 2 * FIRST_CELLS;
    counts->far_size = FIRST_FAR;
    counts->cells = calloc(counts->cell_capacity, sizeof *counts->cells);
    counts->index = calloc(counts->index_size, sizeof *counts->index);
    counts->far = calloc(counts->far_size, sizeof *counts->far);
    if (counts->cells == NULL || counts->index == NULL || counts->far == NULL) {
        exact_counts_destroy(counts);
        return false;
    }
    return true;
}

void exact_counts_destroy(struct exact_counts *counts)
{
    for (uint32_t i = 0; i < counts->cell_count; i++)
        free(counts->cells[i]);
    free(counts->cells);
    free(counts->index);
    free(counts->far);
    memset(counts, 0, sizeof *counts);
}

static size_t cell_bytes(const struct exact_counts *counts)
{
    return sizeof(struct exact_cell) + counts->line_sizes * sizeof(uint32_t[EXACT_STACK_NEAR]);
}

uint64_t exact_counts_bytes(const struct exact_counts *counts)
{
    return counts->cell_count * (uint64_t)cell_bytes(counts) +
           counts->cell_capacity * sizeof *counts->cells +
           counts->index_size * sizeof *counts->index + counts->far_size * sizeof *counts->far;
}

/* Slot of the cell in index, or the empty one where it belongs. */
static uint32_t index_slot(const struct exact_counts *counts, uint32_t instruction, uint32_t object,
                           uint32_t region)
{
    uint32_t slot = (uint32_t)(mixed((uint64_t)object << 32 | instruction) ^ region * 0x85ebca6bu);
    for (;; slot++) {
        slot &= counts->index_size - 1;
        uint32_t number = counts->index[slot];
        if (number == 0)
            return slot;
        const struct exact_cell *cell = counts->cells[number - 1];
        if (cell->instruction == instruction && cell->object == object && cell->region == region)
            return slot;
    }
}

static bool grow_cells(struct exact_counts *counts)
{
    uint32_t capacity = 2 * counts->cell_capacity;
    struct exact_cell **cells = realloc(counts->cells, capacity * sizeof *cells);
    if (cells == NULL)
        return false;
    counts->cells = cells;
    uint32_t *index = calloc(2 * (size_t)capacity, sizeof *index);
    if (index == NULL)
        return false;
    free(counts->index);
    counts->index = index;
    counts->index_size = 2 * capacity;
    counts->cell_capacity = capacity;
    for (uint32_t i = 0; i < counts->cell_count; i++)
        index[index_slot(counts, cells[i]->instruction, cells[i]->object, cells[i]->region)] =
            i + 1;
    return true;
}

struct exact_cell *exact_counts_cell(struct exact_counts *counts, uint32_t instruction,
                                     uint32_t object, uint32_t region)
{
    uint32_t slot = index_slot(counts, instruction, object, region);
    if (counts->index[slot] != 0)
        return counts->cells[counts->index[slot] - 1];
    if (counts->cell_count == counts->cell_capacity) {
        if (!grow_cells(counts))
            return NULL;
        slot = index_slot(counts, instruction, object, region);
    }
    struct exact_cell *cell = calloc(1, cell_bytes(counts));
    if (cell == NULL)
        return NULL;
    cell->instruction = instruction;
    cell->object = object;
    cell->region = region;
    cell->number = counts->cell_count;
    counts->cells[counts->cell_count++] = cell;
    counts->index[slot] = counts->cell_count;
    return cell;
}

/*
 * Bins of one cell lie side by side, which is kind to the cache; a collision, mostly with such a
 * run of another cell, is resolved by steps that differ from cell to cell.
 */
static struct exact_far *far_entry(struct exact_far *far, uint64_t size, uint64_t key)
{
    uint64_t hash = mixed((key - 1) >> 9), step = hash >> 16 | 1;
    for (uint64_t i = hash + ((key - 1) & EXACT_BIN_COLD);; i += step) {
        i &= size - 1;
        if (far[i].key == key || far[i].key == 0)
            return &far[i];
    }
}

static bool grow_far(struct exact_counts *counts)
{
    uint64_t size = 2 * counts->far_size;
    struct exact_far *far = calloc(size, sizeof *far);
    if (far == NULL)
        return false;
    for (uint64_t i = 0; i < counts->far_size; i++)
        if (counts->far[i].key != 0)
            *far_entry(far, size, counts->far[i].key) = counts->far[i];
    free(counts->far);
    counts->far = far;
    counts->far_size = size;
    return true;
}

void exact_counts_add_far(struct exact_counts *counts, const struct exact_cell *cell,
                          unsigned line_size, uint32_t bin, uint64_t n)
{
    uint64_t key = ((uint64_t)cell->number << 16 | line_size << 9 | bin) + 1;
    struct exact_far *entry = far_entry(counts->far, counts->far_size, key);
    if (entry->key == 0) {
        bool full = (counts->far_count + 1) * 2 > counts->far_size;
        if (full && !grow_far(counts) && counts->far_count + 1 == counts->far_size) {
            counts->lost += n;
            return;
        }
        entry = far_entry(counts->far, counts->far_size, key);
        entry->key = key;
        counts->far_count++;
    }
    entry->count += n;
}

void exact_counts_each(const struct exact_counts *counts,
                       void (*visit)(void *context, const struct exact_cell *, unsigned line_size,
                                     uint32_t bin, uint64_t count),
                       void *context)
{
    for (uint32_t i = 0; i < counts->cell_count; i++)
        for (unsigned size = 0; size < counts->line_sizes; size++)
            for (uint32_t distance = 0; distance < EXACT_STACK_NEAR; distance++)
                if (counts->cells[i]->near[size][distance] != 0)
                    visit(context, counts->cells[i], size, distance,
                          counts->cells[i]->near[size][distance]);
    for (uint64_t i = 0; i < counts->far_size; i++) {
        if (counts->far[i].key == 0)
            continue;
        uint64_t key = counts->far[i].key - 1;
        visit(context, counts->cells[key >> 16], key >> 9 & 127, key & EXACT_BIN_COLD,
              counts->far[i].count);
    }
}

static void add_one(void *context, const struct exact_cell *cell, unsigned line_size, uint32_t bin,
                    uint64_t count)
{
    struct exact_counts *into = context;
    struct exact_cell *mine =
        exact_counts_cell(into, cell->instruction, cell->object, cell->region);
    if (mine == NULL)
        into->lost += count;
    else
        exact_counts_add_far(into, mine, line_size, bin, count);
}

void exact_counts_add(struct exact_counts *into, const struct exact_counts *from)
{
    exact_counts_each(from, add_one, into);
    into->lost += from->lost;
}
