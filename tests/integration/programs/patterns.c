/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs with one known problem of memory each, and the same with the problem cured: what
 * reuse-report's findings are tested on.
 *
 *     patterns KIND SIZE SECONDS|TURNS
 *
 * SIZE scales the data (kinds say how); the last argument is turns, or, with a trailing s, seconds.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double until; /* time to stop at; 0: turns decide */
static long turns;
static volatile double sink;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int goes_on(long turn)
{
    return until > 0 ? now() < until : turn < turns;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);

    if (memory == NULL)
        exit(1);
    memset(memory, 1, bytes);
    return memory;
}

/* ---- a square matrix of size x size doubles, by columns or by rows ---- */

static void by_columns(size_t size)
{
    double *grid = allocate(size * size * sizeof(*grid));

    for (long turn = 0; goes_on(turn); turn++) {
        double sum = 0;

        for (size_t column = 0; column < size; column++)
            for (size_t row = 0; row < size; row++)
                sum += grid[row * size + column]; /* mark: column */
        sink = sum;
    }
    free(grid);
}

static void by_rows(size_t size)
{
    double *grid = allocate(size * size * sizeof(*grid));

    for (long turn = 0; goes_on(turn); turn++) {
        double sum = 0;

        for (size_t row = 0; row < size; row++)
            for (size_t column = 0; column < size; column++)
                sum += grid[row * size + column]; /* mark: row */
        sink = sum;
    }
    free(grid);
}

/* ---- a linked list of `size` nodes in random order; an array of as many ---- */

struct node {
    struct node *next;
    long value[5];
};

static void list(size_t size)
{
    struct node **nodes = allocate(size * sizeof(*nodes)), *first, *node;
    uint64_t state = 88172645463325252u;

    for (size_t i = 0; i < size; i++) {
        nodes[i] = malloc(sizeof(struct node));
        memset(nodes[i], 0, sizeof(struct node));
    }
    for (size_t i = size - 1; i > 0; i--) {
        size_t other = next_random(&state) % (i + 1);

        node = nodes[i];
        nodes[i] = nodes[other];
        nodes[other] = node;
    }
    for (size_t i = 0; i + 1 < size; i++)
        nodes[i]->next = nodes[i + 1];
    nodes[size - 1]->next = NULL;
    first = nodes[0];
    for (long turn = 0; goes_on(turn); turn++) {
        long sum = 0;

        for (node = first; node != NULL; node = node->next)
            sum += node->value[0]; /* mark: list */
        sink = (double)sum;
    }
}

static void list_as_array(size_t size)
{
    long *values = allocate(size * sizeof(*values));

    for (long turn = 0; goes_on(turn); turn++) {
        long sum = 0;

        for (size_t i = 0; i < size; i++)
            sum += values[i];
        sink = (double)sum;
    }
    free(values);
}

/* ---- `size` records of which one member is hot; that member alone ---- */

struct record {
    double hot;
    double cold[15];
};

static void wide_records(size_t size)
{
    struct record *records = allocate(size * sizeof(*records));

    for (long turn = 0; goes_on(turn); turn++) {
        double sum = 0;

        for (size_t i = 0; i < size; i++)
            sum += records[i].hot; /* mark: record */
        sink = sum;
    }
    free(records);
}

/* ---- random look-ups in a table of `size` numbers ---- */

static void table(size_t size)
{
    uint64_t *numbers = allocate(size * sizeof(*numbers)), state = 88172645463325252u, sum = 0;

    for (long turn = 0; goes_on(turn); turn++)
        for (size_t i = 0; i < 1000000; i++)
            sum += numbers[next_random(&state) % size]; /* mark: table */
    sink = (double)sum;
    free(numbers);
}

/* ---- y += a[index[i]]: a sparse product whose columns are anywhere, or near the row ---- */

static void gather(size_t size, size_t span)
{
    enum { PER_ROW = 8 };
    uint32_t *index = allocate(size * PER_ROW * sizeof(*index));
    double *x = allocate(size * sizeof(*x)), *y = allocate(size * sizeof(*y));
    uint64_t state = 88172645463325252u;

    for (size_t i = 0; i < size * PER_ROW; i++)
        index[i] = (uint32_t)(span == 0 ? next_random(&state) % size
                                        : (i / PER_ROW + next_random(&state) % span) % size);
    for (long turn = 0; goes_on(turn); turn++)
        for (size_t row = 0; row < size; row++) {
            double sum = 0;

            for (size_t k = 0; k < PER_ROW; k++)
                sum += x[index[row * PER_ROW + k]]; /* mark: gather */
            y[row] = sum;
        }
    sink = y[0];
}

static void gather_anywhere(size_t size)
{
    gather(size, 0);
}
static void gather_near(size_t size)
{
    gather(size, 100);
}

/* ---- passes over `size` doubles, one after the other, or fused ---- */

static void passes(size_t size)
{
    double *a = allocate(size * sizeof(*a)), *b = allocate(size * sizeof(*b));

    for (long turn = 0; goes_on(turn); turn++) {
        for (size_t i = 0; i < size; i++)
            a[i] = a[i] * 0.5; /* mark: first */
        for (size_t i = 0; i < size; i++)
            b[i] = a[i] + b[i]; /* mark: second */
        for (size_t i = 0; i < size; i++)
            b[i] = b[i] * b[i]; /* mark: third */
        for (size_t i = 0; i < size; i++)
            a[i] = a[i] + b[i]; /* mark: fourth */
    }
    sink = a[0];
}

static void fused(size_t size)
{
    double *a = allocate(size * sizeof(*a)), *b = allocate(size * sizeof(*b));

    for (long turn = 0; goes_on(turn); turn++)
        for (size_t i = 0; i < size; i++) {
            double x = a[i] * 0.5, y = x + b[i];

            b[i] = y * y;
            a[i] = x + y * y;
        }
    sink = a[0];
}

/* ---- product of matrices, naive or in blocks ---- */

static void product(size_t n, size_t block)
{
    double *a = allocate(n * n * sizeof(*a)), *b = allocate(n * n * sizeof(*b));
    double *c = allocate(n * n * sizeof(*c));

    memset(c, 0, n * n * sizeof(*c));
    for (long turn = 0; goes_on(turn); turn++) {
        if (block == 0) {
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++) {
                    double sum = 0;
                    for (size_t k = 0; k < n; k++)
                        sum += a[i * n + k] * b[k * n + j]; /* mark: product */
                    c[i * n + j] = sum;
                }
        } else {
            for (size_t kk = 0; kk < n; kk += block)
                for (size_t jj = 0; jj < n; jj += block)
                    for (size_t i = 0; i < n; i++)
                        for (size_t k = kk; k < kk + block && k < n; k++)
                            for (size_t j = jj; j < jj + block && j < n; j++)
                                c[i * n + j] += a[i * n + k] * b[k * n + j];
        }
        sink = c[0];
    }
}
static void product_naive(size_t n)
{
    product(n, 0);
}
static void product_blocked(size_t n)
{
    product(n, 32);
}

/* ---- two threads: a counter that both move, one line with a counter each, counters apart ---- */

static struct {
    atomic_long shared;
    _Alignas(128) struct {
        long first, second;
    } beside;
    _Alignas(128) long apart[64];
} counters;

struct worker {
    int number, kind;
};

static void *count(void *argument)
{
    const struct worker *worker = argument;

    for (long turn = 0; goes_on(turn); turn++)
        for (long i = 0; i < 100000; i++)
            if (worker->kind == 0)
                atomic_fetch_add(&counters.shared, 1); /* mark: shared */
            else if (worker->kind == 1)
                ++*(volatile long *)(worker->number ? &counters.beside.second
                                                    : &counters.beside.first); /* mark: beside */
            else
                ++*(volatile long *)&counters.apart[32 * worker->number];
    return NULL;
}

static void two_threads(int kind)
{
    struct worker workers[2] = {{0, kind}, {1, kind}};
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, count, &workers[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
static void shared_counter(size_t size)
{
    (void)size;
    two_threads(0);
}
static void counters_beside(size_t size)
{
    (void)size;
    two_threads(1);
}
static void counters_apart(size_t size)
{
    (void)size;
    two_threads(2);
}

/* ---- nothing to do with memory ---- */

static void arithmetic(size_t size)
{
    double x = 1;

    (void)size;
    for (long turn = 0; goes_on(turn); turn++)
        for (long i = 0; i < 1000000; i++)
            x = 1 / (1 + x * x); /* mark: arithmetic */
    sink = x;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(size_t size);
    } kinds[] = {{"by-columns", by_columns},
                 {"by-rows", by_rows},
                 {"list", list},
                 {"list-as-array", list_as_array},
                 {"wide-records", wide_records},
                 {"table", table},
                 {"gather-anywhere", gather_anywhere},
                 {"gather-near", gather_near},
                 {"passes", passes},
                 {"fused", fused},
                 {"product-naive", product_naive},
                 {"product-blocked", product_blocked},
                 {"shared-counter", shared_counter},
                 {"counters-beside", counters_beside},
                 {"counters-apart", counters_apart},
                 {"arithmetic", arithmetic}};

    if (argc != 4) {
        fprintf(stderr, "usage: patterns KIND SIZE TURNS|SECONDSs\n");
        return 2;
    }
    if (strchr(argv[3], 's') != NULL)
        until = now() + strtod(argv[3], NULL);
    else
        turns = strtol(argv[3], NULL, 10);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kinds[i].name, argv[1]) == 0) {
            kinds[i].run(strtoul(argv[2], NULL, 10));
            return 0;
        }
    fprintf(stderr, "patterns: no kind '%s'\n", argv[1]);
    return 2;
}
