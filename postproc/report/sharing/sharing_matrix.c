/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/sharing_matrix.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "support/intern_table.h"
#include "support/memory.h"

enum {
    GRID_MAX = 64,    /* cells on a side */
    WIDE_MAX = 32,    /* up to so many, a cell takes two columns */
    NUMBERS_MAX = 7,  /* up to so many, numbers are shown instead of shades */
    NUMBER_WIDTH = 9, /* columns of one */
    LABEL_WIDTH = 6,
};

/* From nothing to the largest cell; each shade stands for cells a third as large as the next. */
static const char shades[] = " .:-=+*#%@";
static const double shade_step = 3;

static int compare_pairs(const void *left, const void *right)
{
    const struct matrix_pair *a = left, *b = right;
    double x = a->transfers.of[MATRIX_ALL].value, y = b->transfers.of[MATRIX_ALL].value;

    if (x != y)
        return x > y ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

/* Pair of each flow, by number; flows that belong to none are outside. */
static uint32_t *number_pairs(const struct communication *communication,
                              struct sharing_matrix *matrix, const uint32_t *from,
                              const uint32_t *to, const uint32_t *place, uint32_t wanted)
{
    size_t flows = communication_flow_count(communication);
    uint32_t *pair_of = allocate_zeroed(flows, sizeof(*pair_of));
    struct intern_table *keys = intern_table_create();
    ARRAY(struct matrix_pair) pairs = {0};

    for (size_t i = 0; i < flows; i++) {
        uint32_t key[2] = {from[i], to[i]};
        struct matrix_pair pair = {.from = from[i], .to = to[i]};

        pair_of[i] = UINT32_MAX;
        if (place[i] != wanted || from[i] >= matrix->parties || to[i] >= matrix->parties)
            continue;
        pair_of[i] = intern_table_insert(keys, key, sizeof(key));
        if (pair_of[i] == pairs.count)
            ARRAY_PUSH(&pairs, pair);
    }
    intern_table_free(keys);
    matrix->pairs = pairs.items;
    matrix->count = pairs.count;
    return pair_of;
}

struct sharing_matrix *sharing_matrix_create(const struct communication *communication,
                                             size_t party_count, const uint32_t *from,
                                             const uint32_t *to, const uint32_t *place,
                                             uint32_t wanted)
{
    struct sharing_matrix *matrix = allocate_zeroed(1, sizeof(*matrix));
    size_t flows = communication_flow_count(communication);
    struct flow_totals *totals;
    uint32_t *labels;

    matrix->parties = party_count;
    labels = number_pairs(communication, matrix, from, to, place, wanted);
    totals = allocate_zeroed(matrix->count + 1, sizeof(*totals));
    flow_totals_of(communication, labels, matrix->count, totals);
    for (size_t p = 0; p < matrix->count; p++)
        matrix->pairs[p].transfers = totals[p];
    for (size_t i = 0; i < flows; i++)
        labels[i] = place[i] == wanted ? 0 : UINT32_MAX;
    flow_totals_of(communication, labels, 1, &matrix->total);
    if (matrix->count > 0)
        qsort(matrix->pairs, matrix->count, sizeof(*matrix->pairs), compare_pairs);
    free(totals);
    free(labels);
    return matrix;
}

void sharing_matrix_free(struct sharing_matrix *matrix)
{
    if (matrix == NULL)
        return;
    free(matrix->pairs);
    free(matrix);
}

double *sharing_matrix_dense(const struct sharing_matrix *matrix, enum matrix_kind kind)
{
    double *values = allocate_zeroed(matrix->parties * matrix->parties, sizeof(*values));

    for (size_t i = 0; i < matrix->count; i++)
        values[matrix->pairs[i].from * matrix->parties + matrix->pairs[i].to] =
            matrix->pairs[i].transfers.of[kind].value;
    return values;
}

/* Sums of blocks of `block` x `block` cells, `side` of them on a side. */
static double *block_sums(const struct sharing_matrix *matrix, enum matrix_kind kind, size_t block,
                          size_t side)
{
    double *sums = allocate_zeroed(side * side, sizeof(*sums));

    for (size_t i = 0; i < matrix->count; i++)
        sums[matrix->pairs[i].from / block * side + matrix->pairs[i].to / block] +=
            matrix->pairs[i].transfers.of[kind].value;
    return sums;
}

static char shade_of(double value, double largest)
{
    int step = (int)(sizeof(shades) - 2);

    if (!(value > 0))
        return shades[0];
    for (double bound = largest / shade_step; step > 1 && value <= bound; bound /= shade_step)
        step--;
    return shades[step];
}

static void put_number_grid(const struct sharing_matrix *matrix, const double *values, FILE *out)
{
    fprintf(out, "%*s", LABEL_WIDTH, "to");
    for (size_t to = 0; to < matrix->parties; to++)
        fprintf(out, "%*zu", NUMBER_WIDTH, to);
    fprintf(out, "\nfrom\n");
    for (size_t from = 0; from < matrix->parties; from++) {
        fprintf(out, "%*zu", LABEL_WIDTH, from);
        for (size_t to = 0; to < matrix->parties; to++) {
            double value = values[from * matrix->parties + to];
            char *text = number_count(value);

            fprintf(out, "%*s", NUMBER_WIDTH, value > 0 ? text : ".");
            free(text);
        }
        fputc('\n', out);
    }
}

/* Numbers of the parties over every eighth column. */
static void put_column_numbers(size_t side, size_t block, int width, FILE *out)
{
    fprintf(out, "%*s ", LABEL_WIDTH, "to");
    for (size_t to = 0; to < side; to += 8)
        fprintf(out, "%-*zu", 8 * width, to * block);
    fprintf(out, "\nfrom\n");
}

static void put_shades(const double *sums, size_t side, size_t block, double largest, FILE *out)
{
    int width = side <= WIDE_MAX ? 2 : 1;

    put_column_numbers(side, block, width, out);
    for (size_t from = 0; from < side; from++) {
        fprintf(out, "%*zu|", LABEL_WIDTH, from * block);
        for (size_t to = 0; to < side; to++) {
            char shade = shade_of(sums[from * side + to], largest);

            for (int i = 0; i < width; i++)
                fputc(shade, out);
        }
        fputs("|\n", out);
    }
}

static void put_legend(size_t block, size_t parties, double largest, FILE *out)
{
    char *most = number_count(largest), *least = number_count(largest / shade_step);

    if (block > 1)
        fprintf(out, "Each cell is a block of %zu x %zu of the %zu.\n", block, block, parties);
    fprintf(out, "%c %s to %s; then each a third:", shades[sizeof(shades) - 2], least, most);
    free(least);
    free(most);
    for (int step = (int)sizeof(shades) - 3; step > 0; step--)
        fprintf(out, " %c", shades[step]);
    fputs("; blank: none\n", out);
}

char *sharing_matrix_grid(const struct sharing_matrix *matrix, enum matrix_kind kind)
{
    size_t block = (matrix->parties + GRID_MAX - 1) / GRID_MAX, side, size;
    double *sums, largest = 0;
    char *text;
    FILE *out = open_text(&text, &size);

    block = block > 0 ? block : 1;
    side = (matrix->parties + block - 1) / block;
    sums = block_sums(matrix, kind, block, side);
    for (size_t i = 0; i < side * side; i++)
        largest = fmax(largest, sums[i]);
    if (matrix->parties <= NUMBERS_MAX) {
        put_number_grid(matrix, sums, out);
    } else {
        put_shades(sums, side, block, largest, out);
        if (largest > 0)
            put_legend(block, matrix->parties, largest, out);
    }
    free(sums);
    fclose(out);
    return text;
}

static int compare_positions(const void *left, const void *right)
{
    const struct matrix_pair *a = left, *b = right;

    if (a->from != b->from)
        return a->from > b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

void sharing_matrix_eagermap(const struct sharing_matrix *matrix, enum matrix_kind kind, FILE *out)
{
    struct matrix_pair *both = allocate_zeroed(2 * matrix->count, sizeof(*both));
    size_t next = 0;

    for (size_t i = 0; i < matrix->count; i++) {
        both[2 * i] = both[2 * i + 1] = matrix->pairs[i];
        both[2 * i + 1].from = matrix->pairs[i].to;
        both[2 * i + 1].to = matrix->pairs[i].from;
    }
    if (matrix->count > 0)
        qsort(both, 2 * matrix->count, sizeof(*both), compare_positions);
    for (size_t from = matrix->parties; from-- > 0;) {
        for (size_t to = 0; to < matrix->parties; to++) {
            double sum = 0;

            for (; next < 2 * matrix->count && both[next].from == from && both[next].to == to;
                 next++)
                sum += from == to ? 0 : both[next].transfers.of[kind].value;
            fprintf(out, "%s%.0f", to > 0 ? "," : "", sum);
        }
        fputc('\n', out);
    }
    free(both);
}
