/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs in the target's normal code. */
#include "interposition/interpose_thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <threads.h>

#include "allocation/interpose_allocation.h"
#include "bursts/thread.h"
#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "large_table.h"
#include "memory/modules.h"
#include "process/process.h"
#include "unwinding/unwind.h"
#include "watches/watch.h"

/* What a new thread is to run, on its way from its creator; from a pool, not from the heap. */
struct start {
    _Atomic bool taken;
    void *(*routine)(void *); /* or the next */
    int (*c11_routine)(void *);
    void *argument;
    bool believes_blocked;          /* SIGTRAP; inherited as the rest of the mask is */
    uint64_t stack_low, stack_size; /* low 0: wherever the C library put it */
};

#define PAGE UINT64_C(4096)

enum { STARTS_MAX = 1024 /* threads that have been created but not yet begun to run */ };

static LARGE_TABLE struct start starts[STARTS_MAX];
static _Atomic uint64_t next_start; /* where to look first; so many were asked for */

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

void interpose_thread_after_fork(void)
{
    uint64_t asked = atomic_load(&next_start);

    /* Pages that nobody has written are not looked at: each child would pay for them. */
    for (unsigned i = 0; i < STARTS_MAX && i < asked; i++)
        atomic_store(&starts[i].taken, false);
}

static struct start *take_start(void)
{
    uint64_t first = atomic_fetch_add(&next_start, 1);

    for (unsigned i = 0; i < STARTS_MAX; i++) {
        struct start *start = &starts[(first + i) % STARTS_MAX];

        if (!atomic_exchange(&start->taken, true))
            return start;
    }
    return NULL;
}

/* A mask that was set by the attributes has come past our wrappers. */
static bool unblock_trap(void)
{
    sigset_t trap, before;

    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    signals_change(SIG_UNBLOCK, &trap, &before);
    return sigismember(&before, SIGTRAP) == 1;
}

/* In the new thread; gives back what its creator lent. */
static struct start begin(struct start *lent)
{
    struct start start = {.routine = lent->routine,
                          .c11_routine = lent->c11_routine,
                          .argument = lent->argument,
                          .believes_blocked = lent->believes_blocked,
                          .stack_low = lent->stack_low,
                          .stack_size = lent->stack_size};
    uint64_t high = (uintptr_t)__builtin_thread_pointer(), low = start.stack_low;

    if (low)
        high = low + start.stack_size;
    else /* the C library puts the thread's control block on top of its stack */
        low = high - start.stack_size;
    atomic_store(&lent->taken, false);
    if (process_is_ours()) {
        signal_believe_blocked(unblock_trap() || start.believes_blocked);
        unwind_know_stack((uintptr_t)__builtin_frame_address(0) & -PAGE, high & -PAGE);
        if (thread_start(low, high) && have_key)
            pthread_setspecific(end_key, &end_key);
    }
    return start;
}

static void *run(void *argument)
{
    struct start start = begin(argument);

    return start.routine(start.argument);
}

static int run_c11(void *argument)
{
    struct start start = begin(argument);

    return start.c11_routine(start.argument);
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

/* Before a thread is created; NULL: it is to be created as if we were not there. */
static struct start *prepare(uintptr_t routine)
{
    struct start *start;

    process_start();
    if (!process_is_ours()) {
        signal_give_back();
        return NULL;
    }
    /* Inherited by threads created from now on, so it must exist before the first of them. */
    shared_watch_open();
    /* Go comes with its own threads: known before they run (modules.c). */
    modules_meet(routine);
    start = take_start();
    if (start)
        start->believes_blocked = signal_is_believed_blocked();
    return start;
}

INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*routine)(void *), void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct start *start = prepare((uintptr_t)routine);
    int result;

    if (!next)
        next = interpose_real("pthread_create");
    if (!start)
        return next(thread, attributes, routine, argument);
    start->routine = routine;
    start->argument = argument;
    stack_of(attributes, start);
    result = next(thread, attributes, run, start);
    if (result != 0)
        atomic_store(&start->taken, false);
    return result;
}

/* The C library's calls its pthread_create() by another name. */
INTERPOSED int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
    static int (*next)(thrd_t *, thrd_start_t, void *);
    struct start *start = prepare((uintptr_t)routine);
    int result;

    if (!next)
        next = interpose_real("thrd_create");
    if (!start)
        return next(thread, routine, argument);
    start->c11_routine = routine;
    start->argument = argument;
    stack_of(NULL, start);
    result = next(thread, run_c11, start);
    if (result != thrd_success)
        atomic_store(&start->taken, false);
    return result;
}
