/* SPDX-License-Identifier: BSD-3-Clause */
/* The outer loop of every microbenchmark; see timing.h. */
#include "timing.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The clock is looked at about this often, so that short iterations are not spent on looking. */
static const uint64_t look_interval_ns = 200000;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool time_is_left(struct run *run, uint64_t done)
{
    if (run->deadline_ns == 0 || done < run->next_look)
        return true;
    uint64_t now = now_ns();
    if (now - run->last_ns < look_interval_ns / 2)
        run->stride *= 2;
    run->last_ns = now;
    run->next_look = done + run->stride;
    return now < run->deadline_ns;
}

bool run_continues(struct run *run)
{
    uint64_t done = run->iteration;
    run->iteration = done + 1;
    return done < run->limit && time_is_left(run, done);
}

/* Each entry belongs to its thread while that runs, and to run_threads() before and after. */
static struct run runs[THREADS_MAX];

struct worker {
    run_work *work;
    void *context;
    size_t thread;
    struct run *run;
};

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    worker->work(worker->context, worker->thread, worker->run);
    return NULL;
}

void run_threads(const struct run_options *options, run_work *work, void *context, uint64_t *done,
                 const volatile void **markers)
{
    size_t threads = options->threads;
    struct worker *workers = calloc(threads, sizeof *workers);
    pthread_t *handles = calloc(threads, sizeof *handles);
    check_allocation(workers, "the threads", threads * sizeof *workers);
    check_allocation(handles, "the threads", threads * sizeof *handles);

    uint64_t start = now_ns();
    for (size_t i = 0; i < threads; i++) {
        runs[i] = (struct run){.limit = options->iterations ? options->iterations : UINT64_MAX,
                               .stride = 1,
                               .last_ns = start};
        if (options->seconds > 0)
            runs[i].deadline_ns = start + (uint64_t)(options->seconds * 1e9);
        workers[i] = (struct worker){work, context, i, &runs[i]};
    }
    for (size_t i = 1; i < threads; i++) {
        int error = pthread_create(&handles[i], NULL, worker_main, &workers[i]);
        if (error != 0)
            fatal("cannot start thread %zu: %s", i, strerror(error));
    }
    worker_main(&workers[0]);
    for (size_t i = 1; i < threads; i++)
        pthread_join(handles[i], NULL);
    for (size_t i = 0; i < threads; i++) {
        done[i] = runs[i].iteration - 1;
        if (markers != NULL)
            markers[i] = &runs[i].iteration;
    }
    free(handles);
    free(workers);
}

size_t share_begin(size_t total, size_t unit, size_t parts, size_t index)
{
    size_t units = (total + unit - 1) / unit;
    size_t begin = (units / parts * index + (index < units % parts ? index : units % parts)) * unit;
    return begin < total ? begin : total;
}
