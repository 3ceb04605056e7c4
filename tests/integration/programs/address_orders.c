/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How addresses follow each other, in data that no cache holds: address_orders KIND TURNS
 *   planes    the innermost loop goes from plane to plane
 *   rows      the same, along its lines
 *   indexes   each cell of one array names the next
 *   crowded   columns of a few rows of 4 KiB, again and again
 *   padded    the same, with a line more in each row
 *   shuffled  cells of that array, each computed from the number of the turn
 *   records   one member of all records, again and again
 *   narrow    columns of a matrix whose rows are as long as a record, one after the other
 *   copied    one half of the cells to the other, by the C library
 *   counted   numbers to where counters say that their bucket goes on
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 192, CELLS = 1 << 22, RECORDS = 200000, NARROW = 17, BUCKETS = 1 << 16 };

struct cell {
    uint32_t next, value;
};

struct record {
    double weight, others[NARROW - 1];
};

static float (*field)[SIDE][SIDE];
static struct cell *cells;

static __attribute__((noinline)) float by_planes(void)
{
    float sum = 0;

    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            for (int k = 0; k < SIDE; k++)
                sum += field[k][j][i]; /* mark: planes */
    return sum;
}

static __attribute__((noinline)) float by_rows(void)
{
    float sum = 0;

    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            for (int k = 0; k < SIDE; k++)
                sum += field[i][j][k]; /* mark: rows */
    return sum;
}

static __attribute__((noinline)) uint32_t by_indexes(void)
{
    uint32_t at = 0, sum = 0;

    for (int i = 0; i < CELLS / 4; i++) {
        sum += cells[at].value; /* mark: value */
        at = cells[at].next;    /* mark: next */
    }
    return sum;
}

static __attribute__((noinline)) uint32_t shuffled(uint32_t turn)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < CELLS / 4; i++) {
        uint32_t at = (i + turn) * 2654435761u;

        at = (at ^ at >> 15) * 2246822519u;
        sum += cells[at % CELLS].value; /* mark: shuffled */
    }
    return sum;
}

/* Each turn waits for the one before: what it misses is not hidden. */
static __attribute__((noinline)) double columns(double *grid, int row)
{
    double sum = 0;

    for (int turn = 0; turn < 50000; turn++) {
        int column = turn % 256;

        for (int i = 0; i < 64; i++)
            grid[i * row + column] += sum * i; /* mark: grid */
        sum = grid[turn % 64 * row + column + 7] + 1;
    }
    return sum;
}

static __attribute__((noinline)) double weights(const struct record *records)
{
    double most = 0;

    for (int i = 0; i < RECORDS; i++)
        most = records[i].weight > most ? records[i].weight : most; /* mark: weight */
    return most;
}

static __attribute__((noinline)) double column(const double *matrix, int number)
{
    double most = 0;

    for (int i = 0; i < RECORDS; i++)
        most = matrix[i * NARROW + number] > most ? matrix[i * NARROW + number] /* mark: narrow */
                                                  : most;
    return most;
}

static __attribute__((noinline)) uint32_t copied(int turn)
{
    struct cell *half = cells + CELLS / 2;

    memcpy(turn % 2 ? half : cells, turn % 2 ? cells : half,
           CELLS / 2 * sizeof *cells); /* mark: copy */
    return cells[turn].value;
}

static uint32_t counters[BUCKETS];

static __attribute__((noinline)) uint32_t counted(uint32_t turn)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        counters[i] = i * (CELLS / BUCKETS);
    for (uint32_t i = 0; i < CELLS; i++) {
        uint32_t bucket = (i + turn) * 2654435761u >> 16;

        cells[counters[bucket]++ % CELLS].value = i; /* mark: scatter */
    }
    return cells[turn].value;
}

/* A ring through all cells: multiplying by 4k + 1 and adding what is odd goes through all numbers
 * (Hull and Dobell, 1962). */
static void link_cells(void)
{
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = (struct cell){(i * 1664525u + 1013904223u) % CELLS, i};
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "planes";
    int turns = argc > 2 ? atoi(argv[2]) : 1;
    double sum = 0, *grid, *matrix;
    struct record *records;

    field = calloc(SIDE, sizeof *field);
    cells = malloc(CELLS * sizeof *cells);
    grid = calloc(64, 5000);
    records = calloc(RECORDS, sizeof *records);
    matrix = calloc(RECORDS, NARROW * sizeof *matrix);
    if (field == NULL || cells == NULL || grid == NULL || records == NULL || matrix == NULL)
        return 1;
    if (strcmp(kind, "indexes") == 0 || strcmp(kind, "shuffled") == 0)
        link_cells();
    for (int i = 0; i < turns; i++) {
        if (strcmp(kind, "planes") == 0)
            sum += by_planes();
        else if (strcmp(kind, "rows") == 0)
            sum += by_rows();
        else if (strcmp(kind, "crowded") == 0)
            sum += columns(grid, 512);
        else if (strcmp(kind, "padded") == 0)
            sum += columns(grid, 520);
        else if (strcmp(kind, "indexes") == 0)
            sum += by_indexes();
        else if (strcmp(kind, "records") == 0)
            sum += weights(records);
        else if (strcmp(kind, "narrow") == 0)
            sum += column(matrix, i % NARROW);
        else if (strcmp(kind, "copied") == 0)
            sum += copied(i);
        else if (strcmp(kind, "counted") == 0)
            sum += counted((uint32_t)i);
        else
            sum += shuffled((uint32_t)i);
    }
    printf("%g\n", sum);
    free(matrix);
    free(records);
    free(grid);
    free(field);
    free(cells);
    return 0;
}
