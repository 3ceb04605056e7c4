/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread of its own tells the time, so that a stage that takes long is seen to go on. See
 * progress.h. */
#include "report/model/progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool running; /* the thread is to be joined */
    bool ended;   /* it is to end */
    const char *stage;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct timespec after(struct timespec start, unsigned half_seconds)
{
    long ns = start.tv_nsec + (half_seconds % 2) * 500000000L;

    return (struct timespec){start.tv_sec + half_seconds / 2 + ns / 1000000000L, ns % 1000000000L};
}

static void *tell(void *unused)
{
    struct timespec start;
    bool shown = false;

    (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &start);
    pthread_mutex_lock(&progress.lock);
    for (unsigned halves = 2; !progress.ended; halves++) {
        struct timespec until = after(start, halves);

        while (!progress.ended &&
               pthread_cond_timedwait(&progress.changed, &progress.lock, &until) != ETIMEDOUT)
            ;
        if (!progress.ended) {
            fprintf(stderr, "\rreuse-report: %s, %u s\033[K", progress.stage, halves / 2);
            shown = true;
        }
    }
    pthread_mutex_unlock(&progress.lock);
    if (shown)
        fputs("\r\033[K", stderr);
    return NULL;
}

void progress_begin(void)
{
    pthread_condattr_t attributes;

    if (progress.running || !isatty(STDERR_FILENO))
        return;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    progress.stage = "starting";
    progress.ended = false;
    progress.running = pthread_create(&progress.thread, NULL, tell, NULL) == 0;
}

void progress_stage(const char *what)
{
    pthread_mutex_lock(&progress.lock);
    progress.stage = what;
    pthread_mutex_unlock(&progress.lock);
}

void progress_end(void)
{
    if (!progress.running)
        return;
    pthread_mutex_lock(&progress.lock);
    progress.ended = true;
    pthread_cond_signal(&progress.changed);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.changed);
    progress.running = false;
}
