/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs in the target's normal code. */
#include "interpose_thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "interpose.h"
#include "interpose_allocation.h"
#include "interpose_loader.h"
#include "interpose_signal.h"
#include "process.h"
#include "thread.h"
#include "unwind.h"
#include "watch.h"

/* What a new thread is to run, on its way from its creator; from a pool, not from the heap. */
struct start {
    _Atomic bool taken;
    void *(*routine)(void *);
    void *argument;
    bool believes_blocked;          /* SIGTRAP; inherited as the rest of the mask is */
    uint64_t stack_low, stack_size; /* low 0: wherever the C library put it */
};

#define PAGE UINT64_C(4096)

enum { STARTS_MAX = 1024 /* threads that have been created but not yet begun to run */ };

static struct start starts[STARTS_MAX];
static _Atomic unsigned next_start; /* where to look first */

/* Its destructor runs at the end of every thread, also through pthread_exit and cancellation. */
static pthread_key_t end_key;
static bool have_key; /* written once at start-up */

static void thread_ends(void *value)
{
    (void)value;
    if (process_is_ours()) {
        struct thread *thread = thread_current();

        if (thread)
            thread_finish(thread, WATCH_THREAD_ENDED);
        allocation_thread_end();
    }
}

void interpose_thread_begin(void)
{
    have_key = pthread_key_create(&end_key, thread_ends) == 0;
    if (have_key)
        pthread_setspecific(end_key, &end_key);
}

static struct start *take_start(void)
{
    unsigned first = atomic_fetch_add(&next_start, 1);

    for (unsigned i = 0; i < STARTS_MAX; i++) {
        struct start *start = &starts[(first + i) % STARTS_MAX];

        if (!atomic_exchange(&start->taken, true))
            return start;
    }
    return NULL;
}

static void *run(void *argument)
{
    struct start *start = argument;
    void *(*routine)(void *) = start->routine;
    void *routine_argument = start->argument;
    bool believes_blocked = start->believes_blocked;
    uint64_t high = (uintptr_t)__builtin_thread_pointer(), low = start->stack_low;

    if (low)
        high = low + start->stack_size;
    else /* the C library puts the thread's control block on top of its stack */
        low = high - start->stack_size;
    atomic_store(&start->taken, false);
    if (process_is_ours()) {
        signal_believe_blocked(believes_blocked);
        unwind_know_stack((uintptr_t)__builtin_frame_address(0) & -PAGE, high & -PAGE);
        if (thread_start(low, high) && have_key)
            pthread_setspecific(end_key, &end_key);
    }
    return routine(routine_argument);
}

static void stack_of(const pthread_attr_t *attributes, struct start *start)
{
    pthread_attr_t defaults;
    void *low = NULL;
    size_t size = 0;

    start->stack_low = 0;
    start->stack_size = 8 << 20;
    if (attributes) {
        if (pthread_attr_getstack(attributes, &low, &size) == 0 && low && size)
            start->stack_low = (uintptr_t)low;
        else
            pthread_attr_getstacksize(attributes, &size);
        if (size)
            start->stack_size = size;
    } else if (pthread_attr_init(&defaults) == 0) {
        if (pthread_attr_getstacksize(&defaults, &size) == 0 && size)
            start->stack_size = size;
        pthread_attr_destroy(&defaults);
    }
}

INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*routine)(void *), void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct start *start;
    int result;

    if (!next)
        next = interpose_real("pthread_create");
    if (!process_is_ours())
        return next(thread, attributes, routine, argument);
    /* Inherited by threads created from now on, so it must exist before the first of them. */
    shared_watch_open();
    start = take_start();
    if (!start)
        return next(thread, attributes, routine, argument);
    start->routine = routine;
    start->argument = argument;
    start->believes_blocked = signal_is_believed_blocked();
    stack_of(attributes, start);
    loader_refresh();
    result = next(thread, attributes, run, start);
    if (result != 0)
        atomic_store(&start->taken, false);
    return result;
}
