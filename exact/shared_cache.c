/* SPDX-License-Identifier: BSD-3-Clause */
/* See shared_cache.h. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3")
#endif
#include "shared_cache.h"

#include <stdlib.h>
#include <string.h>

#include "histograms.h"

enum { PREFETCH_AHEAD = 12 };

/* Everything here is under `lock`; running is read without it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool running;
static struct exact_stack stack;
static struct locality_histograms *counts; /* of the first line size alone */
static unsigned shift;

static void *thread_started(struct guest_thread *thread)
{
    return thread;
}

static void *thread_ended(void *state)
{
    return state;
}

static bool keep_all(void *context, uint64_t line)
{
    (void)context;
    (void)line;
    return true;
}

void shared_cache_become_parallel(struct guest_thread *only)
{
    pthread_mutex_lock(&lock);
    shift = (unsigned)__builtin_ctz(locality_line_size(0));
    const struct exact_stack *before =
        only != NULL ? locality_stack(only->consumer[LOCALITY_CONSUMER]) : NULL;
    counts = calloc(1, sizeof *counts);
    bool whole =
        counts != NULL && (before != NULL ? exact_stack_filter(&stack, before, keep_all, NULL)
                                          : exact_stack_create(&stack));
    if (whole && before != NULL)
        locality_add_thread(only->consumer[LOCALITY_CONSUMER], counts, NULL);
    __atomic_store_n(&running, whole, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

static void use(uint64_t line)
{
    struct exact_reuse reuse = exact_stack_use(&stack, line);
    counts->accesses[0]++;
    if (reuse.distance == EXACT_STACK_COLD) {
        counts->cold[0]++;
        return;
    }
    counts->distance[0][histogram_bin_of(reuse.distance)]++;
    counts->time[0][histogram_bin_of(reuse.time)]++;
}

static void batch(void *state, const struct stream_access *accesses, size_t count)
{
    (void)state;
    if (!__atomic_load_n(&running, __ATOMIC_ACQUIRE))
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        const struct stream_access *access = &accesses[i];
        uint64_t address = stream_address(access), last = address + stream_width(access) - 1;
        unsigned uses = stream_uses(access);
        if (i + PREFETCH_AHEAD < count)
            exact_stack_prefetch(&stack, stream_address(access + PREFETCH_AHEAD) >> shift);
        for (unsigned n = 0; n < uses; n++)
            for (uint64_t line = address >> shift; line <= last >> shift; line++)
                use(line);
    }
    pthread_mutex_unlock(&lock);
}

void shared_cache_write(struct profile_writer *writer, uint64_t now_ns)
{
    pthread_mutex_lock(&lock);
    if (running)
        histograms_write_first(writer, SCOPE_SHARED, 1, counts, now_ns);
    pthread_mutex_unlock(&lock);
}

uint64_t shared_cache_lost(void)
{
    return stack.untracked;
}

void shared_cache_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    running = false;
    memset(&stack, 0, sizeof stack);
    counts = NULL;
}

const struct stream_consumer shared_cache_consumer = {
    .thread_started = thread_started,
    .batch = batch,
    .thread_ended = thread_ended,
};
