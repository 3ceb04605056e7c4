/* SPDX-License-Identifier: BSD-3-Clause */
/* See turns.h. */
#include "turns.h"

#include <pthread.h>
#include <sched.h>

/* Spins before the processor is offered to another thread, which may be the one that has the turn.
 */
enum { SPINS = 500 };

struct turn {
    _Alignas(ARRAY_ALIGNMENT) uint64_t value;
};

static struct turn turns[THREADS_MAX]; /* atomic */

/* Opened by the first thread, for all. */
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t start_complete = PTHREAD_COND_INITIALIZER;
static size_t started; /* under start_lock */

void turns_start(size_t thread, size_t threads)
{
    communication_thread(thread);
    (void)__atomic_load_n(&turns[thread].value, __ATOMIC_ACQUIRE);
    pthread_mutex_lock(&start_lock);
    if (++started == threads)
        pthread_cond_broadcast(&start_complete);
    while (started < threads)
        pthread_cond_wait(&start_complete, &start_lock);
    pthread_mutex_unlock(&start_lock);
}

uint64_t turn_wait(size_t thread, uint64_t seen)
{
    for (unsigned spins = 1;; spins++) {
        uint64_t value = __atomic_load_n(&turns[thread].value, __ATOMIC_ACQUIRE);
        if (value != seen)
            return value;
        if (spins % SPINS == 0)
            sched_yield();
    }
}

void turn_pass(size_t to, uint64_t value)
{
    __atomic_store_n(&turns[to].value, value, __ATOMIC_RELEASE);
}

size_t turns_object(struct communication_truth *t, size_t threads)
{
    size_t bytes = threads * sizeof turns[0];
    size_t object = communication_object(t, "turns", turns, bytes, sizeof turns[0]);
    communication_member(t, object, "value", 0, sizeof turns[0].value);
    for (size_t thread = 0; thread < threads; thread++)
        communication_access(t, thread, object, thread * sizeof turns[0], sizeof turns[0].value,
                             READS);
    return object;
}

void turns_replay(struct communication_truth *t, size_t object, size_t from, size_t to)
{
    size_t offset = to * sizeof turns[0];
    communication_access(t, from, object, offset, sizeof turns[0].value, WRITES);
    communication_access(t, to, object, offset, sizeof turns[0].value, READS);
}
