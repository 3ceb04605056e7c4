/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Five-point Jacobi sweeps over a 2-D grid, back and forth between two arrays: three rows of the
 * source are alive at a time. One iteration is two sweeps. Threads divide the rows and meet after
 * every sweep.
 */
#include <pthread.h>
#include <stdlib.h>

#include "common/options.h"
#include "common/timing.h"
#include "common/truth.h"

static uint64_t rows = 512, columns = 512;
static struct run_options run_options = {.threads = 1};

enum { GRID, NEXT }; /* numbers of the objects in the truth */

struct stencil {
    double *grid, *next;
    pthread_barrier_t barrier;
};

/* Inner points of rows first .. end-1, all of them inner rows. A row's own points pass through
 * registers, so that each is loaded once. */
__attribute__((noinline)) static void jacobi(const double *restrict in, double *restrict out,
                                             size_t width, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const double *restrict row = in + i * width;
        double west = row[0], here = row[1];
        for (size_t j = 1; j + 1 < width; j++) {
            double east = row[j + 1];
            out[i * width + j] =
                0.125 * (row[j - width] + row[j + width] + west + east) + 0.5 * here;
            west = here;
            here = east;
        }
    }
}

static size_t part_begin(size_t thread)
{
    return 1 + share_begin(rows - 2, 1, run_options.threads, thread);
}

static void work(void *context, size_t thread, struct run *run)
{
    struct stencil *s = context;
    size_t first = part_begin(thread), end = part_begin(thread + 1);
    while (run_continues(run)) {
        jacobi(s->grid, s->next, columns, first, end);
        if (run_options.threads > 1)
            pthread_barrier_wait(&s->barrier);
        jacobi(s->next, s->grid, columns, first, end);
        if (run_options.threads > 1)
            pthread_barrier_wait(&s->barrier);
    }
}

static void trace_sweep(struct truth_tracer *tracer, size_t from, size_t to, size_t thread)
{
    const size_t row = columns * sizeof(double);
    for (size_t i = part_begin(thread); i < part_begin(thread + 1); i++) {
        truth_access(tracer, from, i * row);
        truth_access(tracer, from, i * row + sizeof(double));
        for (size_t j = 1; j + 1 < columns; j++) {
            size_t point = i * row + j * sizeof(double);
            truth_access(tracer, from, point + row);
            truth_access(tracer, from, point - row);
            truth_access(tracer, from, point + sizeof(double));
            truth_access(tracer, to, point);
        }
    }
}

static void trace(const void *context, size_t thread, struct truth_tracer *tracer)
{
    (void)context;
    trace_sweep(tracer, GRID, NEXT, thread);
    trace_sweep(tracer, NEXT, GRID, thread);
}

/* A linear function is what the weights leave as it is. */
static double point_value(size_t i, size_t j)
{
    return (double)(3 * i + j);
}

static double verify(const double *grid)
{
    double checksum = 0;
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++) {
            if (grid[i * columns + j] != point_value(i, j))
                fatal("wrong result: point %zu, %zu is %g instead of %g", i, j,
                      grid[i * columns + j], point_value(i, j));
            checksum += grid[i * columns + j];
        }
    }
    return checksum;
}

int main(int argc, char **argv)
{
    const struct option_spec options[] = {
        {"rows", "N", "rows of the grid", OPTION_COUNT, &rows, 3, 1 << 20},
        {"columns", "N", "columns of the grid", OPTION_COUNT, &columns, 3, 1 << 20},
    };
    const struct command command = {.name = "stencil",
                                    .purpose = "Five-point Jacobi sweeps over a 2-D grid.",
                                    .options = options,
                                    .option_count = sizeof options / sizeof options[0],
                                    .run = &run_options,
                                    .threaded = true};
    options_parse(&command, argc, argv);
    if (run_options.threads > rows - 2)
        usage_error("--threads: more than inner rows");
    if (run_options.threads > 1 && run_options.iterations == 0)
        usage_error("--threads: threads that wait for each other need --iterations");

    struct stencil s;
    size_t bytes = rows * columns * sizeof(double);
    double *grid = aligned_alloc(ARRAY_ALIGNMENT, array_size(bytes));
    double *next = aligned_alloc(ARRAY_ALIGNMENT, array_size(bytes));
    check_allocation(grid, "grid", bytes);
    check_allocation(next, "next", bytes);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < columns; j++)
            grid[i * columns + j] = next[i * columns + j] = point_value(i, j);
    }
    s.grid = grid;
    s.next = next;
    pthread_barrier_init(&s.barrier, NULL, (unsigned)run_options.threads);

    struct truth *t = truth_create(&command);
    if (t != NULL) {
        truth_parameter(t, "rows", rows);
        truth_parameter(t, "columns", columns);
        truth_object(t, "grid", grid, bytes);
        truth_object(t, "next", next, bytes);
        truth_setup(t, 3 * rows * columns);
        for (size_t thread = 0; thread < run_options.threads; thread++) {
            for (size_t i = 0; i < TRUTH_LINE_SIZES; i++)
                truth_enumerate(t, thread, i, trace, &s);
        }
    }
    uint64_t done[THREADS_MAX];
    const volatile void *markers[THREADS_MAX];
    run_threads(&run_options, work, &s, done, markers);
    double checksum = verify(grid);
    truth_finish(t, &run_options, done, markers, checksum);
    pthread_barrier_destroy(&s.barrier);
    free(next);
    free(grid);
    return 0;
}
