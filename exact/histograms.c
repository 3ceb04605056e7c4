/* SPDX-License-Identifier: BSD-3-Clause */
/* See histograms.h. */
#include "histograms.h"

#include <stdlib.h>
#include <string.h>

#include "instructions.h"
#include "objects.h"

static void append(struct profile_writer *writer, struct record_histogram *record,
                   const struct histogram_bin *bins, uint64_t now_ns)
{
    record->rate_denominator = 1;
    profile_writer_append(writer, RECORD_HISTOGRAM, record, sizeof *record, bins,
                          record->bin_count * sizeof *bins, now_ns);
}

void histograms_write(struct profile_writer *writer, enum histogram_scope scope, uint64_t key,
                      const struct locality_histograms *histograms, uint64_t now_ns)
{
    struct histogram_bin *bins = malloc(HISTOGRAM_BIN_COUNT * sizeof *bins);
    if (bins == NULL)
        return;
    for (unsigned size = 0; size < locality_line_sizes(); size++)
        for (int measure = MEASURE_STACK_DISTANCE; measure <= MEASURE_REUSE_TIME; measure++) {
            const uint64_t *counts = measure == MEASURE_STACK_DISTANCE ? histograms->distance[size]
                                                                       : histograms->time[size];
            struct record_histogram record = {.scope = (uint8_t)scope,
                                              .measure = (uint8_t)measure,
                                              .line_size = locality_line_size(size),
                                              .key = key,
                                              .accesses = histograms->accesses[size],
                                              .cold = histograms->cold[size]};
            for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
                if (counts[bin] != 0)
                    bins[record.bin_count++] = (struct histogram_bin){bin, 0, counts[bin]};
            append(writer, &record, bins, now_ns);
        }
    free(bins);
}

/* One count with everything that it is sorted by. */
struct row {
    uint64_t key, key2;
    uint32_t size, bin;
    uint64_t count;
};

struct rows {
    enum histogram_scope scope;
    struct row *items;
    size_t count, capacity;
};

static void add_row(void *context, const struct exact_cell *cell, unsigned size, uint32_t bin,
                    uint64_t count)
{
    struct rows *rows = context;
    if (count == 0)
        return;
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? 2 * rows->capacity : 4096;
        struct row *items = realloc(rows->items, capacity * sizeof *items);
        if (items == NULL)
            return;
        rows->items = items;
        rows->capacity = capacity;
    }
    struct row row = {.size = size, .bin = bin, .count = count};
    if (rows->scope == SCOPE_LINE) {
        row.key = instruction_at(cell->instruction)->ip;
    } else {
        struct object_identity object = object_identity(cell->object);
        row.key = (uint64_t)object.kind << 32 | object.reference;
        row.key2 = object.symbol;
    }
    rows->items[rows->count++] = row;
}

static int by_keys(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->key2 != y->key2)
        return x->key2 < y->key2 ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->bin > y->bin) - (x->bin < y->bin);
}

void histograms_write_by(struct profile_writer *writer, enum histogram_scope scope,
                         const struct exact_counts *counts, uint64_t now_ns)
{
    struct rows rows = {.scope = scope};
    for (uint32_t i = 0; i < counts->cell_count; i++)
        for (unsigned size = 0; size < counts->line_sizes; size++)
            for (uint32_t distance = 0; distance < EXACT_STACK_NEAR; distance++)
                add_row(&rows, counts->cells[i], size, distance,
                        counts->cells[i]->near[size][distance]);
    exact_counts_each_far(counts, add_row, &rows);
    if (rows.count > 0)
        qsort(rows.items, rows.count, sizeof *rows.items, by_keys);

    struct histogram_bin *bins = malloc(HISTOGRAM_BIN_COUNT * sizeof *bins);
    for (size_t i = 0; bins != NULL && i < rows.count;) {
        const struct row *first = &rows.items[i];
        struct record_histogram record = {.scope = (uint8_t)scope,
                                          .measure = MEASURE_STACK_DISTANCE,
                                          .line_size = locality_line_size(first->size),
                                          .key = first->key,
                                          .key2 = first->key2};
        for (; i < rows.count; i++) {
            const struct row *row = &rows.items[i];
            if (row->key != first->key || row->key2 != first->key2 || row->size != first->size)
                break;
            record.accesses += row->count;
            if (row->bin == EXACT_BIN_COLD)
                record.cold += row->count;
            else if (record.bin_count > 0 && bins[record.bin_count - 1].bin == row->bin)
                bins[record.bin_count - 1].count += row->count;
            else
                bins[record.bin_count++] = (struct histogram_bin){row->bin, 0, row->count};
        }
        append(writer, &record, bins, now_ns);
    }
    free(bins);
    free(rows.items);
}
