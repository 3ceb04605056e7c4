/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. All threads that were ever known, and the calling one. */
#include "bursts/thread.h"
#include "bursts/thread_internal.h"
#include "bursts/thread_pointer.h"
#include "memory/memory.h"

#include "signal_safe.h"

/* The calling thread's; set by its own thread. */
static __thread struct thread *current __attribute__((tls_model("initial-exec")));

/* All structs ever made; pushed at the front by compare-and-swap, never removed. */
static struct thread *_Atomic registry;
static _Atomic uint32_t thread_ids;
static _Atomic unsigned alive;

struct thread *thread_current(void)
{
    return current;
}

struct thread *thread_first(void)
{
    return atomic_load(&registry);
}

unsigned thread_alive_count(void)
{
    return atomic_load_explicit(&alive, memory_order_relaxed);
}

struct thread *thread_claim(pid_t tid)
{
    struct thread *thread;

    for (thread = thread_first(); thread; thread = thread->next) {
        pid_t nobody = 0;

        if (atomic_compare_exchange_strong(&thread->tid, &nobody, tid))
            return thread;
    }
    thread = memory_map(sizeof *thread);
    if (!thread)
        return NULL;
    thread->handler_stack = memory_map_stack(HANDLER_STACK);
    if (!thread->handler_stack) {
        memory_unmap(thread, sizeof *thread);
        return NULL;
    }
    atomic_store(&thread->tid, tid);
    thread->next = atomic_load(&registry);
    while (!atomic_compare_exchange_weak(&registry, &thread->next, thread))
        ;
    return thread;
}

uint32_t thread_next_id(void)
{
    return atomic_fetch_add(&thread_ids, 1) + 1;
}

void thread_enter(struct thread *thread)
{
    atomic_fetch_add(&alive, 1);
    thread_pointer_enter();
    current = thread;
    atomic_store(&thread->alive, true);
}

void thread_leave(struct thread *thread)
{
    atomic_fetch_sub(&alive, 1);
    current = NULL;
    thread_pointer_leave();
    atomic_store(&thread->tid, 0);
}

void thread_become(struct thread *thread)
{
    current = thread;
}

void thread_forget_all(void)
{
    for (struct thread *thread = thread_first(); thread; thread = thread->next) {
        atomic_store(&thread->alive, false);
        atomic_store(&thread->ending, false);
        thread->watches.count = 0;
        atomic_store(&thread->tid, 0);
    }
    atomic_store(&alive, 0);
    atomic_store(&thread_ids, 0);
    thread_times_forget();
    current = NULL;
}
