/* SPDX-License-Identifier: BSD-3-Clause */
/* Which probes belong together where a cache is divided: by cell, structure and regions. */
#include <stdlib.h>

#include "analysis/sectors/sectors_internal.h"
#include "reuse/sort_keys.h"
#include "support/memory.h"

/* Members: probes of one structure in the same regions. */
static void find_members(struct sector_model *model)
{
    const struct sector_question *question = &model->question;
    size_t capacity = 0;

    for (size_t i = 0; i < model->analysis->probe_count; i++) {
        struct sector_member key = {question->structure_of[i], question->regions_of[i]};
        size_t m = 0;
        while (m < model->member_count && (model->members[m].structure != key.structure ||
                                           model->members[m].regions != key.regions))
            m++;
        if (m == capacity) {
            capacity = 2 * capacity + 16;
            model->members = reallocate(model->members, capacity, sizeof *model->members);
        }
        if (m == model->member_count)
            model->members[model->member_count++] = key;
        model->member_of[i] = (uint32_t)m;
    }
}

static uint32_t cell_of(const struct analysis *analysis, uint32_t probe)
{
    return analysis->bursts[analysis->probes[probe].burst].cell;
}

/* Groups of probes by cell and, in each, by member. */
static void list_pieces(struct sector_model *model)
{
    const struct analysis *analysis = model->analysis;
    size_t n = analysis->probe_count;
    struct sort_key *keys = allocate(2 * n + 1, sizeof *keys);

    model->probes = allocate(n + 1, sizeof *model->probes);
    model->pieces =
        allocate_zeroed(analysis->cell_count * model->member_count + 1, sizeof *model->pieces);
    model->first_piece = allocate_zeroed(analysis->cell_count + 2, sizeof *model->first_piece);
    model->scratch = allocate(analysis->stratum_count + 1, sizeof *model->scratch);
    for (uint32_t i = 0; i < n; i++)
        keys[i] = (struct sort_key){(uint64_t)cell_of(analysis, i) << 32 | model->member_of[i], i};
    const struct sort_key *sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t cell = (uint32_t)(sorted[i].key >> 32), member = (uint32_t)sorted[i].key;

        if (i == 0 || sorted[i].key != sorted[i - 1].key) {
            model->pieces[model->piece_count++] =
                (struct sector_piece){.member = member, .cell = cell, .first = i};
            model->first_piece[cell + 1]++;
        }
        model->pieces[model->piece_count - 1].count++;
        model->probes[i] = sorted[i].index;
    }
    for (size_t c = 0; c < analysis->cell_count; c++)
        model->first_piece[c + 1] += model->first_piece[c];
    free(keys);
}

static double weight_of_cell(const struct analysis *analysis, uint32_t cell)
{
    double weight = 0;

    for (size_t i = 0; i < analysis->burst_count; i++)
        if (analysis->bursts[i].cell == cell)
            weight += analysis->bursts[i].weight * analysis->bursts[i].touches;
    return weight;
}

struct heavy_cell {
    uint32_t cell;
    double weight;
};

static int compare_weights(const void *a, const void *b)
{
    const struct heavy_cell *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->cell < y->cell ? -1 : x->cell > y->cell;
}

static void order_cells(struct sector_model *model)
{
    size_t n = model->analysis->cell_count;
    struct heavy_cell *cells = allocate(n + 1, sizeof *cells);

    model->cell_order = allocate(n + 1, sizeof *model->cell_order);
    for (uint32_t c = 0; c < n; c++)
        cells[c] = (struct heavy_cell){c, weight_of_cell(model->analysis, c)};
    if (n)
        qsort(cells, n, sizeof *cells, compare_weights);
    for (size_t c = 0; c < n; c++)
        model->cell_order[c] = cells[c].cell;
    free(cells);
}

void sector_pieces_list(struct sector_model *model)
{
    model->member_of = allocate(model->analysis->probe_count, sizeof *model->member_of);
    find_members(model);
    list_pieces(model);
    order_cells(model);
}

void sector_pieces_free(struct sector_model *model)
{
    for (size_t i = 0; i < model->piece_count; i++)
        survival_free(&model->pieces[i].curve);
    free(model->probes);
    free(model->scratch);
    free(model->members);
    free(model->member_of);
    free(model->pieces);
    free(model->first_piece);
    free(model->cell_order);
}
