/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory operands of a single instruction. Signal-safe. */
#include "isa/a64/execute.h"
#include "isa/a64/scalable.h"
#include "isa/a64/system.h"
#include "isa/report.h"

#include "signal_safe.h"

/* Whether it loads, stores or both, and how many bytes. */
static unsigned kinds_of(const struct a64_operation *op, unsigned *bytes)
{
    *bytes = op->width;
    switch ((enum a64_code)op->code) {
    case A64_LOAD_8:
    case A64_LOAD_16:
    case A64_LOAD_32:
    case A64_LOAD_64:
    case A64_LOAD_SIGNED_32:
    case A64_LOAD_SIGNED_64:
    case A64_VECTOR_LOAD:
        return ACCESS_LOAD;
    case A64_STORE_8:
    case A64_STORE_16:
    case A64_STORE_32:
    case A64_STORE_64:
    case A64_VECTOR_STORE:
        return ACCESS_STORE;
    case A64_LOAD_PAIR:
    case A64_LOAD_PAIR_SIGNED:
    case A64_VECTOR_LOAD_PAIR:
        *bytes *= 2;
        return ACCESS_LOAD;
    case A64_STORE_PAIR:
    case A64_VECTOR_STORE_PAIR:
        *bytes *= 2;
        return ACCESS_STORE;
    case A64_STRUCTURE:
        return op->word >> 22 & 1 ? ACCESS_LOAD : ACCESS_STORE;
    case A64_LOAD_EXCLUSIVE:
        *bytes <<= op->shift;
        return ACCESS_LOAD;
    case A64_STORE_EXCLUSIVE:
        *bytes <<= op->shift;
        return ACCESS_STORE;
    case A64_COMPARE_AND_SWAP:
        *bytes <<= op->shift;
        return ACCESS_LOAD | ACCESS_STORE;
    case A64_ATOMIC:
        return ACCESS_LOAD | ACCESS_STORE;
    case A64_ZERO_BLOCK:
        *bytes = 4u << (a64_dczid() & 15);
        return ACCESS_STORE;
    default:
        return 0;
    }
}

/* In full, for predicates are not given; none if there is an address for each lane. */
static unsigned scalable_kinds(const struct a64_operation *op, const uint64_t *r, unsigned *bytes,
                               uint64_t *address)
{
    struct a64_scalable_memory memory;
    unsigned vector_length = a64_vector_length();
    if (!a64_scalable_memory(op->word, &memory))
        return 0;
    *bytes = a64_scalable_span(&memory, vector_length);
    *address = a64_scalable_start(&memory, op, r, vector_length);
    return memory.loads ? ACCESS_LOAD : ACCESS_STORE;
}

int instruction_accesses(const void *code, size_t size,
                         const struct interpreter_registers *registers, struct access *out,
                         size_t capacity, unsigned *length)
{
    struct a64_operation op;
    uint64_t r[REGISTER_SLOTS] = {0};
    uint32_t word;
    unsigned bytes;
    struct access *next = out;
    *length = sizeof word;
    if (size < sizeof word)
        return -1;
    memcpy(&word, code, sizeof word);
    a64_decode(word, &op);
    if (op.code == A64_UNKNOWN)
        return -1;
    memcpy(r, registers->general, sizeof registers->general);
    unsigned kinds = kinds_of(&op, &bytes);
    uint64_t address = a64_address(&op, r, registers->ip);
    if (op.code == A64_ZERO_BLOCK)
        address &= ~(uint64_t)(bytes - 1);
    if (op.code == A64_SCALABLE && op.shift == SCALABLE_MEMORY)
        kinds = scalable_kinds(&op, r, &bytes, &address);
    bool both = kinds == (ACCESS_LOAD | ACCESS_STORE);
    bool exclusive = op.code == A64_LOAD_EXCLUSIVE || op.code == A64_STORE_EXCLUSIVE;
    for (unsigned kind = ACCESS_LOAD; kind <= ACCESS_STORE; kind++) {
        for (unsigned done = 0; kinds & kind && done < bytes && next < out + capacity;
             done += ACCESS_WIDTH_MAX) {
            unsigned left = bytes - done;
            unsigned width = left < ACCESS_WIDTH_MAX ? left : ACCESS_WIDTH_MAX;
            report_access(&next, registers->ip, address + done,
                          exclusive ? access_tail_exclusive(width, kind)
                                    : access_tail(width, kind, both));
        }
    }
    return (int)(next - out);
}
