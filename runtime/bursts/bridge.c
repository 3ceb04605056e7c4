/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/bridge.h"

#include <string.h>

#include "arch/arch.h"
#include "bursts/bursts.h"
#include "bursts/look_ahead.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum {
    CODE_BYTES = 16, /* the longest instruction, and a little more */
    OPERANDS_MAX = 64,
};

static const uint32_t every_register = (uint32_t)((UINT64_C(1) << INTERPRETER_REGISTERS) - 1);

/* Length of the instruction, as the interpreted program would see it; 0 if that cannot be told. */
static unsigned instruction_length(struct interpreter *interpreter,
                                   const struct interpreter_registers *registers)
{
    uint64_t code[CODE_BYTES / 8];
    struct access operands[OPERANDS_MAX];
    unsigned length = 0;
    size_t size = 0;

    while (size < CODE_BYTES &&
           interpreter_peek(interpreter, registers->ip + size, 8, &code[size / 8]))
        size += 8;
    instruction_accesses(code, size, registers, operands, OPERANDS_MAX, &length);
    return length;
}

void bridge_foresee(struct interpreter *interpreter, enum interpreter_stop why,
                    struct bridge_stop *stop)
{
    struct interpreter_registers registers;
    unsigned length = 0;

    interpreter_get_registers(interpreter, &registers);
    stop->why = why;
    stop->until = registers.ip;
    stop->unknown = interpreter_poisoned_registers(interpreter);
    memcpy(stop->general, registers.general, sizeof stop->general);
    switch (why) {
    case INTERPRETER_SYSTEM_CALL:
        stop->unknown |= ARCH_SYSTEM_CALL_CHANGES;
        length = instruction_length(interpreter, &registers);
        break;
    case INTERPRETER_UNKNOWN:
        /* What the program has just written it runs when it gets here. */
        if (interpreter_has_written(interpreter, registers.ip, CODE_BYTES))
            return;
        stop->unknown = every_register;
        length = instruction_length(interpreter, &registers);
        break;
    case INTERPRETER_UNREADABLE:
        stop->unknown = every_register;
        length = instruction_length(interpreter, &registers);
        break;
    case INTERPRETER_POISONED_BRANCH:
    case INTERPRETER_POISONED_ADDRESS:
    case INTERPRETER_STORE_BUFFER:
        return;
    default:
        break;
    }
    stop->until = length ? registers.ip + length : 0;
}

bool bridge_set(struct thread *thread, struct scratch *scratch, const struct bridge_stop *stop,
                uint64_t app_now)
{
    struct bridge *bridge = &thread->bridge;

    if (!stop->until || scratch->record.stops >= BRIDGE_STOPS_MAX || watch_registers(thread) == 0)
        return false;
    bridge->slot = 0; /* the one that keeps nothing for long */
    bridge->passes = 0;
    bridge->stop = *stop;
    if (!private_watch_take(&thread->watches, bridge->slot, WATCH_FOR_BRIDGE, stop->until, app_now))
        return false;
    bridge->scratch = scratch;
    scratch_wait(scratch);
    return true;
}

static bool is_foreseen(const struct bridge_stop *stop, const ucontext_t *context)
{
    struct interpreter_registers now;

    if (arch_ip(context) != stop->until)
        return false;
    look_ahead_registers(context, &now);
    for (unsigned i = 0; i < INTERPRETER_REGISTERS; i++)
        if (!(stop->unknown >> i & 1) && now.general[i] != stop->general[i])
            return false;
    return true;
}

struct scratch *bridge_leave(struct thread *thread)
{
    struct scratch *scratch = thread->bridge.scratch;

    if (thread == thread_current()) {
        if (scratch)
            private_watch_release(&thread->watches, thread->bridge.slot);
        thread->bridge.scratch = NULL;
    }
    return scratch && scratch_resume(scratch, thread) ? scratch : NULL;
}

void bridge_trap(struct thread *thread, ucontext_t *context, uint64_t app_now)
{
    struct bridge *bridge = &thread->bridge;
    bool foreseen = is_foreseen(&bridge->stop, context);
    struct scratch *scratch;

    if (!foreseen && ++bridge->passes < BRIDGE_PASSES_MAX)
        return;
    scratch = bridge_leave(thread);
    if (!scratch)
        return;
    if (foreseen) {
        bursts_go_on(thread, scratch, context, app_now);
        return;
    }
    bursts_end_early(scratch);
}

void bridge_cancel(struct thread *thread)
{
    struct scratch *scratch = thread->bridge.scratch;

    thread->bridge.scratch = NULL;
    if (scratch && scratch_resume(scratch, thread))
        bursts_end_early(scratch);
}
