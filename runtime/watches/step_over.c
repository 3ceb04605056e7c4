/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "watches/step_over.h"

#include "arch/arch.h"
#include "interposition/descriptors.h"
#include "perf_events/perf_event.h"
#include "recording/tape.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum { NOT_OPENED = -1, NOT_TO_BE_HAD = -2 };

void step_over_begin_thread(struct thread *thread)
{
    thread->step = (struct step_over){
        .descriptor = NOT_OPENED,
        /* Traps of an earlier thread's use of this memory stay strangers. */
        .generation = thread->step.generation + 1,
    };
}

static void bring_back(struct thread *thread)
{
    struct step_over *step = &thread->step;
    unsigned private = step->private_aside, shared = step->shared_aside;

    step->private_aside = 0;
    step->shared_aside = 0;
    if (step->descriptor >= 0)
        perf_event_disable(&step->descriptor);
    watch_bring_back(thread, private);
    shared_watch_bring_back(shared, step->shared_use);
}

void step_over_end_thread(struct thread *thread)
{
    struct step_over *step = &thread->step;

    step->private_aside = 0;
    if (step->shared_aside)
        bring_back(thread);
    descriptor_release(&step->descriptor);
    step->descriptor = NOT_OPENED;
}

/* Without a breakpoint, samples bring back what is aside. */
static void arm(struct step_over *step)
{
    struct event_cookie cookie = {.kind = EVENT_STEP};

    if (step->descriptor == NOT_OPENED &&
        descriptor_adopt(perf_breakpoint_open(), &step->descriptor) < 0)
        step->descriptor = NOT_TO_BE_HAD;
    step->generation = (step->generation + 1) & WATCH_GENERATION_MASK;
    cookie.generation = step->generation;
    if (step->descriptor >= 0)
        perf_breakpoint_arm(&step->descriptor, step->until, event_cookie_pack(cookie));
}

void step_over_access(struct thread *thread, uint64_t address, const ucontext_t *context)
{
    struct step_over *step = &thread->step;
    uint64_t until = tape_value(TAPE_SETTING, tape_supplies() ? 0 : arch_access_done(context));

    if ((step->private_aside || step->shared_aside) && step->until != until)
        bring_back(thread);
    watch_put_aside(thread, address);
    shared_watch_put_aside(thread, address);
    if (!step->private_aside && !step->shared_aside)
        return;
    step->until = until;
    step->expiries = 0;
    if (until)
        arm(step);
}

void step_over_trap(struct thread *thread, uint32_t generation)
{
    if (generation == thread->step.generation)
        bring_back(thread);
}

void step_over_stray_trap(struct thread *thread)
{
    if (thread->step.descriptor >= 0)
        perf_event_disable(&thread->step.descriptor);
}

void step_over_expiry(struct thread *thread)
{
    struct step_over *step = &thread->step;

    /* The first may have come between the trap and the access. */
    if ((step->private_aside || step->shared_aside) && ++step->expiries > 1)
        bring_back(thread);
}
