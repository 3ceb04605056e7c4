/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * String instructions, element by element: each element counts as an instruction and makes one
 * access per memory operand, as when single-stepped. Signal-safe.
 */
#include "isa/x86/integer.h"

#include "signal_safe.h"

static void report(struct output *output, uint64_t ip, uint64_t address, unsigned width,
                   enum access_kind kind)
{
    *output->next++ = (struct access){
        .ip = ip, .address = address, .width = (uint8_t)width, .kind = (uint8_t)kind};
}

static void compare(struct interpreter *it, uint64_t a, uint64_t b, unsigned width, bool known)
{
    if (!known) {
        lazy_flags_poison(&it->flags);
        return;
    }
    unsigned shift = 64 - 8 * width;
    uint64_t difference = a - b;
    uint64_t borrows = (~a & b) | (~(a ^ b) & difference);
    it->flags.result = sign_extend(difference, width);
    it->flags.carries = borrows << shift | (borrows & 8);
    it->flags.kind = 0;
}

/* One element. Returns why it must stop, or INTERPRETER_FULL if it need not. */
static enum interpreter_stop element(struct interpreter *it, const struct micro_op *op, uint64_t ip,
                                     uint64_t step, struct output *output)
{
    unsigned width = op->width;
    uint64_t from = it->r[REGISTER_RSI] + (op->s == REGISTER_ZERO ? 0 : it->r[op->s]);
    uint64_t to = it->r[REGISTER_RDI];
    uint64_t a = 0, b = 0;
    bool a_known = !(it->poison >> REGISTER_RAX & 1), b_known = true;
    bool loads_from = op->d == STRING_MOVS || op->d == STRING_LODS || op->d == STRING_CMPS;
    bool loads_to = op->d == STRING_CMPS || op->d == STRING_SCAS;
    bool stores_to = op->d == STRING_MOVS || op->d == STRING_STOS;
    if (stores_to && store_buffer_room(&it->store) < 2)
        return INTERPRETER_STORE_BUFFER;
    if (loads_from) {
        enum memory_outcome outcome = memory_read(it, from, &a, width);
        if (outcome == MEMORY_FAULT)
            return INTERPRETER_UNREADABLE;
        a_known = outcome == MEMORY_KNOWN;
    } else {
        a = register_value(it, REGISTER_RAX, width);
    }
    if (loads_to) {
        enum memory_outcome outcome = memory_read(it, to, &b, width);
        if (outcome == MEMORY_FAULT)
            return INTERPRETER_UNREADABLE;
        b_known = outcome == MEMORY_KNOWN;
    }
    if (loads_from) {
        report(output, ip, from, width, ACCESS_LOAD);
        it->r[REGISTER_RSI] += step;
    }
    if (loads_to || stores_to) {
        report(output, ip, to, width, loads_to ? ACCESS_LOAD : ACCESS_STORE);
        it->r[REGISTER_RDI] += step;
    }
    if (stores_to)
        store_buffer_write(&it->store, to, a_known ? &a : NULL, width);
    if (loads_to)
        compare(it, a, b, width, a_known && b_known);
    if (op->d == STRING_LODS) {
        register_write(it, REGISTER_RAX, width, a);
        if (!a_known)
            it->poison |= REGISTER_BIT(REGISTER_RAX);
        else if (width >= 4)
            it->poison &= ~REGISTER_BIT(REGISTER_RAX);
    }
    return INTERPRETER_FULL;
}

bool x86_string(struct interpreter *it, const struct micro_op *op, uint64_t ip,
                struct output *output, enum interpreter_stop *why)
{
    uint64_t addresses =
        (op->d == STRING_STOS || op->d == STRING_SCAS ? 0 : REGISTER_BIT(REGISTER_RSI)) |
        (op->d == STRING_LODS ? 0 : REGISTER_BIT(REGISTER_RDI)) |
        (op->scale == REPEAT_NONE ? 0 : REGISTER_BIT(REGISTER_RCX));
    uint64_t step = it->flags.other & FLAG_DF ? -(uint64_t)op->width : op->width;
    bool compares = op->d == STRING_CMPS || op->d == STRING_SCAS;
    if (it->poison & addresses) {
        *why = INTERPRETER_POISONED_ADDRESS;
        return false;
    }
    if (op->scale == REPEAT_NONE) {
        *why = element(it, op, ip, step, output);
        return *why == INTERPRETER_FULL;
    }
    uint64_t done = 0;
    *why = INTERPRETER_FULL;
    while (it->r[REGISTER_RCX] != 0) {
        if (output->budget == done)
            *why = INTERPRETER_BUDGET;
        if (output->end - output->next < 2 || output->budget == done)
            break;
        uint64_t from = it->r[REGISTER_RSI], to = it->r[REGISTER_RDI];
        struct access *next = output->next;
        struct lazy_flags flags = it->flags;
        *why = element(it, op, ip, step, output);
        if (*why != INTERPRETER_FULL)
            break;
        if (compares && it->flags.kind & FLAG_ZF) {
            /* Whether it goes on is a branch: stop before this element. */
            it->r[REGISTER_RSI] = from;
            it->r[REGISTER_RDI] = to;
            it->flags = flags;
            output->next = next;
            *why = INTERPRETER_POISONED_BRANCH;
            break;
        }
        it->r[REGISTER_RCX]--;
        done++;
        if (it->r[REGISTER_RCX] == 0 || (compares && !(lazy_flags_value(&it->flags) & FLAG_ZF) !=
                                                         (op->scale == REPEAT_WHILE_NOT_EQUAL))) {
            /* The caller counts one, as for any instruction. */
            it->instructions += done - 1;
            return true;
        }
    }
    it->instructions += done;
    return it->r[REGISTER_RCX] == 0;
}
