/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See thread_pointer.h. */
#include "bursts/thread_pointer.h"

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

#include "bursts/thread.h"
#include "large_table.h"
#include "own/raw_call.h"

#include "signal_safe.h"

static _Atomic uint64_t lost;

uint64_t thread_pointer_events_lost(void)
{
    return atomic_load(&lost);
}

#if defined(__x86_64__)
/* A table by the upper bits of the address. A place that was left is used again. */
enum { PLACES = 8192, NEXT_PLACES = 64, LEFT = 1 };
static LARGE_TABLE _Atomic uint64_t known[PLACES];
static _Atomic bool overflowed; /* one had no place: nobody is turned away any more */
static bool has_instruction;    /* that reads it; written at start-up */

static _Atomic uint64_t *place_of(uint64_t pointer, unsigned number)
{
    uint64_t hash = (pointer >> 6) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

    return &known[(hash + number) % PLACES];
}

static bool is_known(uint64_t pointer)
{
    uint64_t there;

    for (unsigned i = 0; i < NEXT_PLACES; i++) {
        there = atomic_load_explicit(place_of(pointer, i), memory_order_relaxed);
        if (there == pointer)
            return pointer != 0;
        if (there == 0)
            return false;
    }
    return false;
}

void thread_pointer_begin(void)
{
    enum { HWCAP2_READS_FS = 1 << 1 };

    has_instruction = getauxval(AT_HWCAP2) & HWCAP2_READS_FS;
    thread_pointer_enter();
}

void thread_pointer_enter(void)
{
    uint64_t pointer = (uintptr_t)__builtin_thread_pointer();

    for (unsigned i = 0; i < NEXT_PLACES && !is_known(pointer);) {
        _Atomic uint64_t *place = place_of(pointer, i);
        uint64_t there = atomic_load(place);

        if ((there == 0 || there == LEFT) && atomic_compare_exchange_strong(place, &there, pointer))
            return;
        i += there != 0 && there != LEFT;
    }
    if (!is_known(pointer))
        atomic_store(&overflowed, true);
}

void thread_pointer_leave(void)
{
    uint64_t pointer = (uintptr_t)__builtin_thread_pointer();

    for (unsigned i = 0; i < NEXT_PLACES; i++)
        if (atomic_load(place_of(pointer, i)) == pointer) {
            atomic_store(place_of(pointer, i), LEFT);
            return;
        }
}

static uint64_t base_of_fs(void)
{
    uint64_t base = 0;

    if (has_instruction)
        __asm__ volatile("rdfsbase %0" : "=r"(base));
    else
        raw_call(SYS_arch_prctl, ARCH_GET_FS, (long)&base, 0, 0, 0, 0);
    return base;
}

bool thread_pointer_is_known(void)
{
    return is_known(base_of_fs()) || atomic_load_explicit(&overflowed, memory_order_relaxed);
}

/* A clock that expires once is set again: it would be the thread's last expiry. */
void thread_pointer_event_lost(void)
{
    pid_t own = (pid_t)raw_call(SYS_gettid, 0, 0, 0, 0, 0, 0);

    atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
    for (struct thread *thread = thread_first(); thread; thread = thread->next)
        if (atomic_load(&thread->tid) == own && thread->expires_once && thread->clock >= 0)
            raw_call(SYS_ioctl, thread->clock, PERF_EVENT_IOC_REFRESH, 1, 0, 0, 0);
}
#else
/* Nobody else's is known of: programs leave TPIDR_EL0 to the C library. */
void thread_pointer_begin(void) {}
void thread_pointer_enter(void) {}
void thread_pointer_leave(void) {}
void thread_pointer_event_lost(void) {}
bool thread_pointer_is_known(void)
{
    return true;
}
#endif
