/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes sparse matrices of known shape as Matrix Market files, the same for the same arguments. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/random.h"

static const char *kind = "banded", *output = "-";
static uint64_t rows = 100000, per_row = 8, bandwidth = 100, seed = 1;
static double exponent = 1.0;

/*
 * Distinct ascending columns of one row, `length` of them, into `columns`. All kinds but the
 * Laplacian draw columns until enough different ones are there.
 */
static uint64_t draw_uniform(uint64_t row, uint64_t *state)
{
    (void)row;
    return random_below(state, rows);
}

static uint64_t draw_banded(uint64_t row, uint64_t *state)
{
    uint64_t first = row > bandwidth ? row - bandwidth : 0;
    uint64_t last = row + bandwidth < rows ? row + bandwidth : rows - 1;
    return first + random_below(state, last - first + 1);
}

/* P(column < c) grows like c^(1-exponent), or log c for exponent 1: a continuous Zipf law. */
static uint64_t draw_power_law(uint64_t row, uint64_t *state)
{
    (void)row;
    double u = random_unit(state), n = (double)rows, e = 1 - exponent, value;
    if (fabs(e) < 1e-9)
        value = exp(u * log(n + 1)) - 1;
    else
        value = pow(1 + u * (pow(n + 1, e) - 1), 1 / e) - 1;
    uint64_t column = (uint64_t)value;
    return column < rows ? column : rows - 1;
}

typedef uint64_t draw_column(uint64_t row, uint64_t *state);

static int compare_columns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* How many draws of one row may be repetitions before the row is left shorter. */
enum { DRAWS_PER_ENTRY = 100 };

static uint64_t fill_row(uint64_t row, draw_column *draw, uint64_t *state, uint64_t *columns)
{
    uint64_t length = 0;
    for (uint64_t draws = 0; length < per_row && draws < DRAWS_PER_ENTRY * per_row; draws++) {
        uint64_t column = draw(row, state), k = 0;
        while (k < length && columns[k] != column)
            k++;
        if (k == length)
            columns[length++] = column;
    }
    qsort(columns, length, sizeof columns[0], compare_columns);
    return length;
}

/* The kinds with random columns; the rows are drawn twice, to count the entries and to write. */
static void write_random(FILE *out, draw_column *draw)
{
    uint64_t *columns = malloc(per_row * sizeof *columns);
    check_allocation(columns, "a row", per_row * sizeof *columns);
    uint64_t entries = 0, state = random_start(seed);
    for (uint64_t row = 0; row < rows; row++)
        entries += fill_row(row, draw, &state, columns);
    fprintf(out, "%llu %llu %llu\n", (unsigned long long)rows, (unsigned long long)rows,
            (unsigned long long)entries);
    state = random_start(seed);
    for (uint64_t row = 0; row < rows; row++) {
        uint64_t length = fill_row(row, draw, &state, columns);
        for (uint64_t k = 0; k < length; k++) {
            unsigned long long value = (row + 3 * columns[k]) % 9 + 1;
            fprintf(out, "%llu %llu %llu\n", (unsigned long long)row + 1,
                    (unsigned long long)columns[k] + 1, value);
        }
    }
    free(columns);
}

/* Five-point Laplacian of a side x side grid, rows = side * side. */
static void write_laplacian(FILE *out, uint64_t side)
{
    unsigned long long size = rows, entries = rows + 4 * side * (side - 1);
    fprintf(out, "%llu %llu %llu\n", size, size, entries);
    for (uint64_t i = 0; i < side; i++) {
        for (uint64_t j = 0; j < side; j++) {
            unsigned long long row = i * side + j + 1;
            if (i > 0)
                fprintf(out, "%llu %llu -1\n", row, row - side);
            if (j > 0)
                fprintf(out, "%llu %llu -1\n", row, row - 1);
            fprintf(out, "%llu %llu 4\n", row, row);
            if (j + 1 < side)
                fprintf(out, "%llu %llu -1\n", row, row + 1);
            if (i + 1 < side)
                fprintf(out, "%llu %llu -1\n", row, row + side);
        }
    }
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"kind", "banded|uniform|power-law|laplacian", "shape", OPTION_CHOICE, &kind, 0, 0},
        {"rows", "N", "rows and columns (laplacian: the next lower square)", OPTION_COUNT, &rows, 1,
         INT32_MAX},
        {"per-row", "N", "entries of a row (not laplacian)", OPTION_COUNT, &per_row, 1, 4096},
        {"bandwidth", "N", "farthest column from the diagonal (banded)", OPTION_COUNT, &bandwidth,
         0, INT32_MAX},
        {"exponent", "X", "of the columns' popularity (power-law)", OPTION_REAL, &exponent, 0, 0},
        {"seed", "N", "of the random numbers", OPTION_COUNT, &seed, 0, UINT64_MAX},
        {"output", "FILE", "where to write", OPTION_TEXT, &output, 0, 0},
    };
    const struct command command = {.name = "matrix-generate",
                                    .purpose = "Writes a sparse matrix in Matrix Market format.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0]};
    options_parse(&command, argc, argv);
    if (strcmp(kind, "laplacian") != 0 && per_row > rows)
        usage_error("--per-row: more entries than the %llu columns", (unsigned long long)rows);

    bool on_stdout = strcmp(output, "-") == 0;
    FILE *out = on_stdout ? stdout : fopen(output, "w");
    if (out == NULL)
        fatal("cannot write %s: %s", output, strerror(errno));
    fprintf(out,
            "%%%%MatrixMarket matrix coordinate integer general\n%% matrix-generate --kind %s\n",
            kind);
    if (kind[0] == 'l') {
        uint64_t side = (uint64_t)sqrt((double)rows);
        rows = side * side;
        write_laplacian(out, side);
    } else {
        write_random(out, kind[0] == 'b'   ? draw_banded
                          : kind[0] == 'u' ? draw_uniform
                                           : draw_power_law);
    }
    bool failed = ferror(out) != 0;
    if ((on_stdout ? fflush(out) : fclose(out)) != 0 || failed)
        fatal("cannot write %s: %s", on_stdout ? "standard output" : output, strerror(errno));
    return 0;
}
