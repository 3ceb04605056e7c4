/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cells: bursts that run the same code, and so pass through as many lines in as many accesses. The
 * shares of a burst's probes by blocks of code, as square roots, make a unit vector; a burst joins
 * the cell whose mean it is most like, if it is enough so, else it opens one. Bursts of small cells
 * are in one together.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "support/memory.h"

enum {
    CODE_BITS = 10, /* a block of code: 1 KiB */
    CELLS_MAX = 24,
    CELL_BURSTS_MIN = 10,
    DIMENSIONS = 512, /* blocks are hashed to so many: a rare collision joins little */
};
/* Cosine from which on a burst is like a cell. */
#define ALIKE_MIN 0.6

/* A cell while it grows; common ones of small domains too. */
struct growing {
    uint32_t domain;
    size_t bursts;
    double norm;
    double sum[DIMENSIONS];
};

static unsigned dimension_of(uint64_t ip)
{
    return (unsigned)((ip >> CODE_BITS) * UINT64_C(0x9e3779b97f4a7c15) >> 55);
}

/* The burst's unit vector. */
static void describe(const struct analysis *analysis, const struct analysed_burst *burst,
                     double vector[DIMENSIONS])
{
    memset(vector, 0, DIMENSIONS * sizeof *vector);
    for (size_t i = burst->first_probe; i < burst->first_probe + burst->probe_count; i++)
        vector[dimension_of(analysis->probes[i].last_ip)] += analysis->probes[i].count;
    for (unsigned d = 0; d < DIMENSIONS && burst->touches; d++)
        vector[d] = sqrt(vector[d] / burst->touches);
}

static double likeness(const struct growing *cell, const double vector[DIMENSIONS])
{
    double product = 0;

    for (unsigned d = 0; d < DIMENSIONS; d++)
        product += cell->sum[d] * vector[d];
    return cell->norm > 0 ? product / cell->norm : 0;
}

static void join(struct growing *cell, const double vector[DIMENSIONS])
{
    double square = 0;

    for (unsigned d = 0; d < DIMENSIONS; d++) {
        cell->sum[d] += vector[d];
        square += cell->sum[d] * cell->sum[d];
    }
    cell->norm = sqrt(square);
    cell->bursts++;
}

/*
 * Threads that run the same code are alike, so that private caches need not be told apart; the
 * merged clocks of groups differ.
 */
static uint32_t kind_of(const struct analysis *analysis, const struct analysed_burst *burst)
{
    return analysis->options.groups ? burst->domain : burst->profile;
}

/* The common cells of kinds come first. */
static size_t find_cell(struct growing *cells, size_t count, uint32_t kind,
                        const double vector[DIMENSIONS])
{
    size_t best = count;
    double most = ALIKE_MIN;

    for (size_t c = 0; c < count; c++) {
        double like = cells[c].domain == kind ? likeness(&cells[c], vector) : 0;

        if (like >= most) {
            most = like;
            best = c;
        }
    }
    return best;
}

/* Cells of so few bursts go into their kind's common one, which is numbered after those that stay.
 */
static void renumber(struct analysis *analysis, const struct growing *cells, size_t count,
                     uint32_t kinds)
{
    uint32_t *number = allocate(count + kinds + 1, sizeof *number), *common = number + count;
    size_t kept = 0;

    for (uint32_t k = 0; k < kinds; k++)
        common[k] = UINT32_MAX;
    for (size_t c = 0; c < count; c++)
        number[c] = cells[c].bursts >= CELL_BURSTS_MIN ? (uint32_t)kept++ : UINT32_MAX;
    for (size_t i = 0; i < analysis->burst_count; i++) {
        struct analysed_burst *burst = &analysis->bursts[i];
        uint32_t cell = burst->cell < count ? number[burst->cell] : UINT32_MAX;

        if (cell == UINT32_MAX) {
            uint32_t *own = &common[kind_of(analysis, burst)];

            if (*own == UINT32_MAX)
                *own = (uint32_t)kept++;
            cell = *own;
        }
        burst->cell = cell;
    }
    free(number);
    analysis->cell_count = kept;
    analysis->cells = allocate_zeroed(kept + 1, sizeof *analysis->cells);
    for (size_t i = 0; i < analysis->burst_count; i++)
        analysis->cells[analysis->bursts[i].cell].bursts++;
}

void analysis_divide(struct analysis *analysis)
{
    uint32_t kinds = 1;
    size_t count = 0, room;
    struct growing *cells;

    for (size_t i = 0; i < analysis->burst_count; i++) {
        uint32_t kind = kind_of(analysis, &analysis->bursts[i]);
        kinds = kind >= kinds ? kind + 1 : kinds;
    }
    room = (size_t)CELLS_MAX * (kinds < CELLS_MAX ? kinds : CELLS_MAX);
    cells = allocate_zeroed(room, sizeof *cells);
    for (size_t i = 0; i < analysis->burst_count; i++) {
        struct analysed_burst *burst = &analysis->bursts[i];
        uint32_t kind = kind_of(analysis, burst);
        double vector[DIMENSIONS];
        size_t cell;

        burst->cell = UINT32_MAX;
        if (burst->touches == 0)
            continue;
        describe(analysis, burst, vector);
        cell = find_cell(cells, count, kind, vector);
        if (cell == count && count < room)
            cells[count++].domain = kind;
        burst->cell = (uint32_t)cell;
        if (cell < count)
            join(&cells[cell], vector);
    }
    renumber(analysis, cells, count, kinds);
    free(cells);
}
