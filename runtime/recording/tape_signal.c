/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See tape_signal.h. */
#include "recording/tape_signal.h"

#include <stdatomic.h>
#include <string.h>

#include "arch/arch.h"
#include "large_table.h"
#include "perf_events/timebase.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum { EXTENDED_MAX = INTERPRETER_STATE_MAX };

/* As it stands on the tape. */
struct taped_signal {
    uint64_t cookie;
    uint32_t asynchronous;
    uint32_t extended_size; /* of TAPE_BYTES that follow; 0 none */
    unsigned char context[ARCH_CONTEXT_BYTES];
};

/* What a section's beginning has cost the thread: time, and accesses that were counted. */
static void charge(struct thread *thread, uint64_t ns, uint64_t accesses)
{
    atomic_fetch_add_explicit(&thread->overhead_ns, tape_value(TAPE_CLOCK, ns),
                              memory_order_relaxed);
    if (pmu_in_use())
        thread->pmu.ours += tape_value(TAPE_COUNT, accesses);
}

static uint64_t counted(const struct thread *thread)
{
    return pmu_in_use() ? pmu_thread_accesses(&thread->pmu, true) : 0;
}

bool tape_signal(struct thread *thread, struct event_cookie cookie, bool asynchronous,
                 const ucontext_t *context)
{
    struct taped_signal signal = {.cookie = event_cookie_pack(cookie),
                                  .asynchronous = asynchronous};
    uint64_t ns, accesses;
    bool inside;

    if (__builtin_expect(tape_mode != TAPE_RECORDS, true))
        return false;
    ns = thread_cpu_ns();
    accesses = counted(thread);
    signal.extended_size = arch_extended_bytes(context);
    if (signal.extended_size > EXTENDED_MAX)
        signal.extended_size = EXTENDED_MAX;
    memcpy(signal.context, &context->uc_mcontext, sizeof signal.context);
    if (!tape_begin(TAPE_SIGNAL, thread->id, &signal, sizeof signal))
        return false;
    if (signal.extended_size)
        tape_pass_bytes((void *)(uintptr_t)arch_extended_elsewhere(context), signal.extended_size);
    inside = tape_step_out();
    ns = thread_cpu_ns() - ns;
    accesses = counted(thread) - accesses;
    tape_step_in(inside);
    charge(thread, ns, accesses);
    return true;
}

static bool is_possible(struct event_cookie cookie)
{
    switch (cookie.kind) {
    case EVENT_CLOCK:
    case EVENT_STEP:
        return true;
    case EVENT_WATCH:
        return cookie.slot < WATCHES_MAX;
    case EVENT_SHARED_WATCH:
        return cookie.slot < SHARED_WATCH_SLOTS;
    default:
        return false;
    }
}

bool tape_signal_read(const struct tape_section *section, struct thread *thread,
                      struct event_cookie *cookie, bool *asynchronous, ucontext_t **context)
{
    static LARGE_TABLE unsigned char extended[EXTENDED_MAX] __attribute__((aligned(64)));
    static ucontext_t made;
    struct taped_signal signal;
    uint32_t least = ARCH_EXTENDED_LEAST;

    if (section->size != sizeof signal)
        return false;
    memcpy(&signal, section->data, sizeof signal);
    if (!event_cookie_unpack(signal.cookie, cookie) || !is_possible(*cookie) ||
        (signal.extended_size && signal.extended_size < least) ||
        signal.extended_size > EXTENDED_MAX)
        return false;
    memset(&made, 0, sizeof made);
    memset(extended, 0, sizeof extended);
    memcpy(&made.uc_mcontext, signal.context, sizeof signal.context);
    if (signal.extended_size)
        tape_pass_bytes(extended, signal.extended_size);
    arch_set_extended_state(&made, signal.extended_size ? extended : NULL, signal.extended_size);
    *asynchronous = signal.asynchronous;
    *context = &made;
    charge(thread, 0, 0);
    return true;
}
