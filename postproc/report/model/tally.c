/* SPDX-License-Identifier: BSD-3-Clause */
/* See tally.h. */
#include "report/model/tally.h"

#include <stdlib.h>

#include "support/descending.h"

void tally_add(struct tally *tally, const struct access_record *access)
{
    tally->samples++;
    tally->weight++;
    tally->loads += access->kinds == ACCESS_LOAD;
    tally->stores += access->kinds == ACCESS_STORE;
    tally->atomics += access->kinds == (ACCESS_LOAD | ACCESS_STORE);
    tally->remote += !!(access->flags & PMU_REMOTE);
    tally->modified += !!(access->flags & PMU_MODIFIED_ELSEWHERE);
    if (access->flags & PMU_HAS_LATENCY) {
        struct tally_latency latency = {access->latency, 1};

        ARRAY_PUSH(&tally->latencies, latency);
    }
}

void tally_add_served(struct tally *tally, const struct record_served *served)
{
    uint64_t samples = served->samples;

    tally->samples += samples;
    tally->weight += (double)served->weight;
    tally->loads += served->kind == ACCESS_LOAD ? samples : 0;
    tally->stores += served->kind == ACCESS_STORE ? samples : 0;
    tally->atomics += served->kind == (ACCESS_LOAD | ACCESS_STORE) ? samples : 0;
    tally->remote += served->flags & SERVED_REMOTE ? samples : 0;
    tally->modified += served->flags & SERVED_MODIFIED_ELSEWHERE ? samples : 0;
    if (served->flags & SERVED_LATENCY && samples > 0) {
        struct tally_latency latency = {(double)served->latency / (double)samples, samples};

        ARRAY_PUSH(&tally->latencies, latency);
    }
}

void tally_free(struct tally *tally)
{
    free(tally->latencies.items);
}

static int compare_cycles(const void *left, const void *right)
{
    double a = ((const struct tally_latency *)left)->cycles;
    double b = ((const struct tally_latency *)right)->cycles;

    return (a > b) - (a < b);
}

static uint64_t count_latencies(const struct tally *tally)
{
    uint64_t samples = 0;

    for (size_t i = 0; i < tally->latencies.count; i++)
        samples += tally->latencies.items[i].samples;
    return samples;
}

bool tally_quantile(struct tally *tally, double share, double *cycles)
{
    const struct tally_latency *items = tally->latencies.items;
    uint64_t samples = count_latencies(tally), rank, below = 0;
    size_t at = 0;

    if (samples == 0)
        return false;
    qsort(tally->latencies.items, tally->latencies.count, sizeof *items, compare_cycles);
    rank = (uint64_t)(share * (double)(samples - 1) + 0.5);
    while (below + items[at].samples <= rank)
        below += items[at++].samples;
    *cycles = items[at].cycles;
    return true;
}

bool tally_mean(const struct tally *tally, double *cycles)
{
    uint64_t samples = count_latencies(tally);
    double sum = 0;

    for (size_t i = 0; i < tally->latencies.count; i++)
        sum += tally->latencies.items[i].cycles * (double)tally->latencies.items[i].samples;
    *cycles = samples ? sum / (double)samples : 0;
    return samples > 0;
}

uint32_t *tally_ranking(const struct tally *tallies, size_t count, size_t top, size_t *ranked)
{
    struct valued *ranks = allocate_zeroed(count, sizeof *ranks);
    uint32_t *result = allocate_zeroed(count, sizeof *result);

    for (size_t i = 0; i < count; i++)
        ranks[i] = (struct valued){(uint32_t)i, (double)tallies[i].samples};
    sort_descending(ranks, count);
    *ranked = count < top ? count : top;
    for (size_t i = 0; i < *ranked; i++)
        result[i] = ranks[i].number;
    free(ranks);
    return result;
}

void tally_cells(struct tally *tally, double total, struct cell *cells)
{
    double cycles;

    cells[0] = cell_value(CELL_COUNT, (double)tally->samples);
    cells[1] = cell_value(CELL_SHARE, tally->weight / total);
    /* An atomic is both. */
    cells[2] = cell_value(CELL_COUNT, (double)(tally->loads + tally->atomics));
    cells[3] = cell_value(CELL_COUNT, (double)(tally->stores + tally->atomics));
    if (tally_mean(tally, &cycles))
        cells[4] = cell_value(CELL_COUNT, cycles);
    if (tally_quantile(tally, 0.9, &cycles))
        cells[5] = cell_value(CELL_COUNT, cycles);
    cells[6] = cell_value(CELL_COUNT, (double)tally->remote);
    cells[7] = cell_value(CELL_COUNT, (double)tally->modified);
}

/* A row for each value of an enumeration that has samples, the most first. */
static void add_rows(struct document *document, struct table *table, struct tally *tallies,
                     size_t count, double total, const char *(*name)(size_t))
{
    size_t ranked;
    uint32_t *order = tally_ranking(tallies, count, count, &ranked);

    for (size_t i = 0; i < ranked; i++) {
        struct tally *tally = &tallies[order[i]];
        struct row *row;

        if (tally->samples == 0)
            continue;
        row = table_row(table);
        row->cells[0] = cell_text(document, name(order[i]));
        tally_cells(tally, total, row->cells + 1);
    }
    free(order);
}

static const char *level_text(size_t level)
{
    return access_level_name((enum access_level)level);
}

static const char *translation_text(size_t translation)
{
    return access_translation_name((enum access_translation)translation);
}

struct table *tally_sources(struct document *document, struct tally *tallies, double total,
                            const char *basis)
{
    static const struct column columns[] = {{.key = "source", .heading = "served by"},
                                            TALLY_COLUMNS};
    struct table *table = document_table(document, "sources", "Where the data came from", basis,
                                         columns, sizeof columns / sizeof columns[0]);

    add_rows(document, table, tallies, LEVEL_COUNT, total, level_text);
    return table;
}

struct table *tally_translations(struct document *document, struct tally *tallies, double total,
                                 const char *basis)
{
    static const struct column columns[] = {{.key = "translation", .heading = "translated by"},
                                            TALLY_COLUMNS};
    struct table *table = document_table(document, "translations", "How addresses were translated",
                                         basis, columns, sizeof columns / sizeof columns[0]);

    add_rows(document, table, tallies, TRANSLATION_COUNT, total, translation_text);
    return table;
}
