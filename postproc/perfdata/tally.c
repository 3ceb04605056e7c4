/* SPDX-License-Identifier: BSD-3-Clause */
/* See tally.h. */
#include "perfdata/tally.h"

#include <stdlib.h>

#include "support/descending.h"

void tally_add(struct tally *tally, const struct access_record *access)
{
    tally->samples++;
    tally->loads += access->kinds == ACCESS_LOAD;
    tally->stores += access->kinds == ACCESS_STORE;
    tally->atomics += access->kinds == (ACCESS_LOAD | ACCESS_STORE);
    tally->remote += !!(access->flags & PMU_REMOTE);
    tally->modified += !!(access->flags & PMU_MODIFIED_ELSEWHERE);
    if (access->flags & PMU_HAS_LATENCY)
        ARRAY_PUSH(&tally->latencies, access->latency);
}

void tally_free(struct tally *tally)
{
    free(tally->latencies.items);
}

static int compare_cycles(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return a < b ? -1 : a > b;
}

bool tally_quantile(struct tally *tally, double share, double *cycles)
{
    size_t count = tally->latencies.count;

    if (count == 0)
        return false;
    qsort(tally->latencies.items, count, sizeof tally->latencies.items[0], compare_cycles);
    *cycles = tally->latencies.items[(size_t)(share * (double)(count - 1) + 0.5)];
    return true;
}

bool tally_mean(const struct tally *tally, double *cycles)
{
    double sum = 0;

    for (size_t i = 0; i < tally->latencies.count; i++)
        sum += tally->latencies.items[i];
    *cycles = tally->latencies.count ? sum / (double)tally->latencies.count : 0;
    return tally->latencies.count > 0;
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

void tally_cells(struct tally *tally, uint64_t total, struct cell *cells)
{
    double cycles;

    cells[0] = cell_value(CELL_COUNT, (double)tally->samples);
    cells[1] = cell_value(CELL_SHARE, (double)tally->samples / (double)total);
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
