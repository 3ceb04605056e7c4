/* SPDX-License-Identifier: BSD-3-Clause */
/* See histograms.h. */
#include "histograms.h"

#include <stdlib.h>
#include <string.h>

#include "instructions.h"
#include "objects.h"
#include "regions.h"

/* Instructions with less than one access in so many are written together, as instruction 0. */
enum { NEGLIGIBLE = 100000 };

struct histogram_bin histograms_bin(uint32_t exact_bin, uint64_t count)
{
    uint32_t first = histogram_bin_of(exact_bin_low(exact_bin));
    uint32_t end = histogram_bin_of(exact_bin_low(exact_bin + 1));

    return (struct histogram_bin){first, end > first ? end - first - 1 : 0, count};
}

static void append(struct profile_writer *writer, struct record_histogram *record,
                   const struct histogram_bin *bins, uint64_t now_ns)
{
    record->rate_denominator = locality_rate();
    profile_writer_append(writer, RECORD_HISTOGRAM, record, sizeof *record, bins,
                          record->bin_count * sizeof *bins, now_ns);
}

static void write_sizes(struct profile_writer *writer, enum histogram_scope scope, uint64_t key,
                        const struct locality_histograms *histograms, unsigned sizes,
                        uint64_t now_ns)
{
    struct histogram_bin *bins = malloc(HISTOGRAM_BIN_COUNT * sizeof *bins);
    if (bins == NULL)
        return;
    for (unsigned size = 0; size < sizes; size++)
        for (int measure = MEASURE_STACK_DISTANCE; measure <= MEASURE_COHERENCE; measure++) {
            const uint64_t *counts = measure == MEASURE_STACK_DISTANCE ? histograms->distance[size]
                                     : measure == MEASURE_REUSE_TIME   ? histograms->time[size]
                                                                       : histograms->invalidated;
            bool coherence = measure == MEASURE_COHERENCE;
            if (coherence && size > 0)
                continue;
            struct record_histogram record = {.scope = (uint8_t)scope,
                                              .measure = (uint8_t)measure,
                                              .line_size = locality_line_size(size),
                                              .key = key,
                                              .accesses = histograms->accesses[size],
                                              .cold = coherence ? 0 : histograms->cold[size]};
            for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
                if (counts[bin] != 0)
                    bins[record.bin_count++] = (struct histogram_bin){bin, 0, counts[bin]};
            if (!coherence || record.bin_count > 0)
                append(writer, &record, bins, now_ns);
        }
    free(bins);
}

/* Stores by the largest distance since the store before, without those where it is 0: see
 * reuse/exact_dirty.h. */
static void write_dirty(struct profile_writer *writer, enum histogram_scope scope, uint64_t key,
                        const struct locality_histograms *histograms, unsigned size,
                        uint64_t now_ns)
{
    const struct exact_dirty *dirty = &histograms->dirty[size];
    struct histogram_bin *bins = malloc(HISTOGRAM_BIN_COUNT * sizeof *bins);
    struct record_histogram record = {.scope = (uint8_t)scope,
                                      .measure = MEASURE_DIRTY,
                                      .line_size = locality_line_size(size),
                                      .key = key,
                                      .accesses = dirty->first,
                                      .cold = dirty->first};
    if (bins == NULL)
        return;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++) {
        if (dirty->bins[bin] == 0)
            continue;
        record.accesses += dirty->bins[bin];
        bins[record.bin_count++] = (struct histogram_bin){bin, 0, dirty->bins[bin]};
    }
    if (locality_rate() == 1)
        append(writer, &record, bins, now_ns);
    free(bins);
}

/* Bytes of each access: every value has a bin of its own. */
static void write_widths(struct profile_writer *writer, enum histogram_scope scope, uint64_t key,
                         const struct locality_histograms *histograms, uint64_t now_ns)
{
    struct histogram_bin bins[ACCESS_WIDTH_MAX + 1];
    struct record_histogram record = {.scope = (uint8_t)scope,
                                      .measure = MEASURE_WIDTH,
                                      .line_size = locality_line_size(0),
                                      .key = key};

    for (uint32_t width = 1; width <= ACCESS_WIDTH_MAX; width++) {
        if (histograms->width[width] == 0)
            continue;
        record.accesses += histograms->width[width];
        bins[record.bin_count++] = (struct histogram_bin){width, 0, histograms->width[width]};
    }
    if (record.bin_count > 0)
        append(writer, &record, bins, now_ns);
}

void histograms_write(struct profile_writer *writer, enum histogram_scope scope, uint64_t key,
                      const struct locality_histograms *histograms, uint64_t now_ns)
{
    write_sizes(writer, scope, key, histograms, locality_line_sizes(), now_ns);
    for (unsigned size = 0; size < locality_line_sizes(); size++)
        write_dirty(writer, scope, key, histograms, size, now_ns);
    write_widths(writer, scope, key, histograms, now_ns);
}

void histograms_write_first(struct profile_writer *writer, enum histogram_scope scope, uint64_t key,
                            const struct locality_histograms *histograms, uint64_t now_ns)
{
    write_sizes(writer, scope, key, histograms, 1, now_ns);
    write_dirty(writer, scope, key, histograms, 0, now_ns);
}

/* One count with everything that it is sorted by. */
struct row {
    uint64_t key, key2;
    uint32_t size, bin;
    uint64_t count;
};

struct rows {
    enum histogram_scope scope;
    uint32_t region; /* only its cells; 0: all */
    struct row *items;
    size_t count, capacity;
};

static void add_row(void *context, const struct exact_cell *cell, unsigned size, uint32_t bin,
                    uint64_t count)
{
    struct rows *rows = context;
    if (rows->region != 0 && !regions_contain(cell->region, rows->region))
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
    if (rows->scope == SCOPE_REGION) {
        row.key = rows->region;
    } else if (rows->scope == SCOPE_LINE) {
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

/* Writes counts by bin as one histogram. */
static void write_counts(struct profile_writer *writer, struct record_histogram *record,
                         const uint64_t counts[EXACT_BIN_COLD + 1], uint64_t now_ns)
{
    struct histogram_bin bins[EXACT_BIN_COLD];
    record->cold = record->accesses = counts[EXACT_BIN_COLD];
    for (uint32_t bin = 0; bin < EXACT_BIN_COLD; bin++) {
        if (counts[bin] == 0)
            continue;
        record->accesses += counts[bin];
        bins[record->bin_count++] = histograms_bin(bin, counts[bin]);
    }
    if (record->accesses > 0)
        append(writer, record, bins, now_ns);
}

/* By scope, of one region's accesses, or of all (0). */
static void write_by(struct profile_writer *writer, enum histogram_scope scope, uint32_t region,
                     const struct exact_counts *counts, uint64_t now_ns)
{
    struct rows rows = {.scope = scope, .region = region};
    /* A region's own histogram has it as its key. */
    uint16_t region_id = scope == SCOPE_REGION ? 0 : (uint16_t)region;
    uint64_t total[EXACT_LINE_SIZES_MAX] = {0};
    uint64_t rest[EXACT_LINE_SIZES_MAX][EXACT_BIN_COLD + 1] = {{0}};
    exact_counts_each(counts, add_row, &rows);
    if (rows.count > 0)
        qsort(rows.items, rows.count, sizeof *rows.items, by_keys);
    for (size_t i = 0; i < rows.count; i++)
        total[rows.items[i].size] += rows.items[i].count;

    for (size_t i = 0; i < rows.count;) {
        const struct row *first = &rows.items[i];
        uint64_t group[EXACT_BIN_COLD + 1] = {0}, accesses = 0;
        for (; i < rows.count; i++) {
            const struct row *row = &rows.items[i];
            if (row->key != first->key || row->key2 != first->key2 || row->size != first->size)
                break;
            group[row->bin] += row->count;
            accesses += row->count;
        }
        bool negligible =
            scope == SCOPE_LINE && (first->key == 0 || accesses * NEGLIGIBLE < total[first->size]);
        struct record_histogram record = {.scope = (uint8_t)scope,
                                          .measure = MEASURE_STACK_DISTANCE,
                                          .region_id = region_id,
                                          .line_size = locality_line_size(first->size),
                                          .key = first->key,
                                          .key2 = first->key2};
        if (!negligible)
            write_counts(writer, &record, group, now_ns);
        for (uint32_t bin = 0; negligible && bin <= EXACT_BIN_COLD; bin++)
            rest[first->size][bin] += group[bin];
    }
    for (unsigned size = 0; size < counts->line_sizes; size++) {
        struct record_histogram record = {.scope = (uint8_t)scope,
                                          .measure = MEASURE_STACK_DISTANCE,
                                          .region_id = region_id,
                                          .line_size = locality_line_size(size)};
        write_counts(writer, &record, rest[size], now_ns);
    }
    free(rows.items);
}

void histograms_write_by(struct profile_writer *writer, enum histogram_scope scope,
                         const struct exact_counts *counts, uint64_t now_ns)
{
    bool of_region = scope == SCOPE_REGION;
    for (uint32_t i = of_region; i <= (of_region ? regions_count() : regions_split()); i++)
        write_by(writer, scope, i, counts, now_ns);
}
