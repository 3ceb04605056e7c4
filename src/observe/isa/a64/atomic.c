/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exclusives, compare and swap, atomic operations. Signal-safe.
 *
 * A compare and swap that fails is reported as load and store, as watchpoints see it, but stores
 * nothing. An exclusive store succeeds if the look-ahead has come by its exclusive load: that no
 * other thread writes meanwhile is what all loads ahead take for granted. Without that load it
 * fails, for the return from the signal that started the look-ahead ends the processor's
 * monitoring.
 */
#include "isa/a64/execute.h"
#include "isa/memory.h"
#include "isa/report.h"

#include "signal_safe.h"

static uint64_t combine(unsigned opcode, uint64_t old, uint64_t operand, unsigned width)
{
    enum { ADD, CLR, EOR, SET, SMAX, SMIN, UMAX, UMIN, SWAP };
    int64_t signed_old = bytes_signed(old, width), signed_operand = bytes_signed(operand, width);
    operand &= bytes_mask(width);
    switch (opcode) {
    case ADD:
        return old + operand;
    case CLR:
        return old & ~operand;
    case EOR:
        return old ^ operand;
    case SET:
        return old | operand;
    case SMAX:
        return signed_old > signed_operand ? old : operand;
    case SMIN:
        return signed_old < signed_operand ? old : operand;
    case UMAX:
        return old > operand ? old : operand;
    case UMIN:
        return old < operand ? old : operand;
    default:
        return operand;
    }
}

static void report_both(struct a64_step *step, unsigned width)
{
    report_access(&step->out, step->ip, step->address, access_tail(width, ACCESS_LOAD, true));
    report_access(&step->out, step->ip, step->address, access_tail(width, ACCESS_STORE, true));
}

enum interpreter_stop a64_atomic(struct interpreter *it, const struct a64_operation *op,
                                 struct a64_step *step)
{
    enum { SWAP = 8 };
    uint64_t old;
    enum memory_outcome outcome = memory_load_any(it, step->address, &old, op->width);
    if (outcome == MEMORY_FAULT)
        return INTERPRETER_UNREADABLE;
    if (store_buffer_room(&it->store) < 2)
        return INTERPRETER_STORE_BUFFER;
    bool known =
        !(step->poison & general_bit(op->m)) && (outcome == MEMORY_KNOWN || op->shift == SWAP);
    if (known)
        memory_store(it, step->address, combine(op->shift, old, it->r[op->m], op->width),
                     op->width);
    else
        store_buffer_write(&it->store, step->address, NULL, op->width);
    if (outcome != MEMORY_KNOWN)
        step->fresh = op->writes;
    it->r[op->d] = old;
    report_both(step, op->width);
    return INTERPRETER_FULL;
}

static uint64_t source(const struct interpreter *it, unsigned r)
{
    return r == 31 ? 0 : it->r[r];
}

static uint64_t source_bit(unsigned r)
{
    return r == 31 ? 0 : general_bit(r);
}

enum interpreter_stop a64_compare_and_swap(struct interpreter *it, const struct a64_operation *op,
                                           struct a64_step *step)
{
    const unsigned pieces = op->shift ? 2 : 1, width = op->width;
    uint64_t old[2] = {0, 0}, differs = 0, compared = 0, stored = 0;
    bool known = true;
    for (unsigned i = 0; i < pieces; i++) {
        enum memory_outcome outcome =
            memory_load_any(it, step->address + i * width, &old[i], width);
        if (outcome == MEMORY_FAULT)
            return INTERPRETER_UNREADABLE;
        known = known && outcome == MEMORY_KNOWN;
        differs |= (old[i] ^ source(it, op->m + i)) & bytes_mask(width);
        compared |= source_bit(op->m + i);
        stored |= source_bit(op->d + i);
    }
    if (store_buffer_room(&it->store) < 2)
        return INTERPRETER_STORE_BUFFER;
    bool decided = known && !(step->poison & compared);
    for (unsigned i = 0; i < pieces; i++) {
        uint64_t address = step->address + i * width;
        if (!decided || (differs == 0 && step->poison & stored))
            store_buffer_write(&it->store, address, NULL, width);
        else if (differs == 0)
            memory_store(it, address, source(it, op->d + i), width);
        it->r[op->m + i == 31 ? REGISTER_SINK : op->m + i] = old[i];
    }
    if (!known)
        step->fresh = op->writes;
    report_both(step, pieces * width);
    return INTERPRETER_FULL;
}

enum interpreter_stop a64_load_exclusive(struct interpreter *it, const struct a64_operation *op,
                                         struct a64_step *step)
{
    uint64_t value[2] = {0, 0};
    unsigned pieces = op->shift ? 2 : 1;
    for (unsigned i = 0; i < pieces; i++) {
        enum memory_outcome outcome =
            memory_load_any(it, step->address + i * op->width, &value[i], op->width);
        if (outcome == MEMORY_FAULT)
            return INTERPRETER_UNREADABLE;
        if (outcome == MEMORY_POISONED)
            step->fresh |= general_bit(i ? op->a : op->d);
    }
    it->r[op->d] = value[0];
    if (pieces == 2)
        it->r[op->a] = value[1];
    it->monitor.address = step->address;
    it->monitor.width = pieces * op->width;
    report_access(&step->out, step->ip, step->address,
                  access_tail_exclusive(pieces * op->width, ACCESS_LOAD));
    return INTERPRETER_FULL;
}

enum interpreter_stop a64_store_exclusive(struct interpreter *it, const struct a64_operation *op,
                                          struct a64_step *step)
{
    unsigned pieces = op->shift ? 2 : 1, width = pieces * op->width;
    bool monitored = it->monitor.width == width && it->monitor.address == step->address;
    if (!monitored && it->monitor.width) {
        /* Another address than the load's: processors may let it succeed. */
        it->monitor.width = 0;
        step->fresh = op->writes;
        return INTERPRETER_UNKNOWN;
    }
    if (monitored) {
        if (store_buffer_room(&it->store) < 2)
            return INTERPRETER_STORE_BUFFER;
        for (unsigned i = 0; i < pieces; i++) {
            unsigned r = i ? op->a : op->d;
            uint64_t address = step->address + i * op->width;
            if (step->poison & general_bit(r))
                store_buffer_write(&it->store, address, NULL, op->width);
            else
                memory_store(it, address, it->r[r], op->width);
        }
        report_access(&step->out, step->ip, step->address,
                      access_tail_exclusive(width, ACCESS_STORE));
    }
    it->r[op->m] = !monitored;
    it->monitor.width = 0;
    return INTERPRETER_FULL;
}
