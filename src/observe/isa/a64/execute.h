/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the interpreter's loop leaves to others. These functions change general and vector registers
 * and flags, report accesses to step->out, and say in step->fresh which registers become unknown;
 * all others that the operation writes become known. Signal-safe.
 */
#ifndef REUSE_ISA_A64_EXECUTE_H
#define REUSE_ISA_A64_EXECUTE_H

#include "isa/a64/bytes.h"
#include "isa/state.h"

/* Linux lets programs keep a tag in the top byte of an address; it is no part of it. */
#define A64_ADDRESS_MASK (~UINT64_C(0) >> 8)

static inline uint64_t a64_address(const struct a64_operation *op, const uint64_t *r, uint64_t ip)
{
    uint64_t address = r[op->n];
    switch (op->mode) {
    case ADDRESSING_OFFSET:
    case ADDRESSING_PRE:
        address += (uint64_t)op->immediate;
        break;
    case ADDRESSING_LSL:
        address += r[op->m] << op->shift;
        break;
    case ADDRESSING_UXTW:
        address += (uint64_t)(uint32_t)r[op->m] << op->shift;
        break;
    case ADDRESSING_SXTW:
        address += (uint64_t)(int64_t)(int32_t)r[op->m] << op->shift;
        break;
    case ADDRESSING_LITERAL:
        address = ip + (uint64_t)op->immediate;
        break;
    default: /* ADDRESSING_POST, ADDRESSING_POST_BY */
        break;
    }
    return address & A64_ADDRESS_MASK;
}

/* Whether condition 0..15 holds; 14 and 15 always do. */
static inline bool a64_condition(unsigned condition, uint32_t nzcv)
{
    /* Bit f: holds with the flags f. */
    static const uint16_t holds[16] = {0xf0f0, 0x0f0f, 0xcccc, 0x3333, 0xff00, 0x00ff,
                                       0xaaaa, 0x5555, 0x0c0c, 0xf3f3, 0xaa55, 0x55aa,
                                       0x0a05, 0xf5fa, 0xffff, 0xffff};
    return holds[condition] >> nzcv & 1;
}

/* The low bytes of a vector register; those above become zero. */
static inline void a64_set_vector(struct interpreter *it, unsigned v, const uint8_t *bytes,
                                  unsigned size)
{
    memcpy(it->vector[v], bytes, size);
    memset(it->vector[v] + size, 0, VECTOR_BYTES - size);
}

/* integer.c: pure */
uint64_t a64_operand(const struct a64_operation *, uint64_t value);
uint64_t a64_one_source(const struct a64_operation *, uint64_t value);
uint64_t a64_crc32(const struct a64_operation *, uint32_t crc, uint64_t value);
uint64_t a64_multiply_high(uint64_t a, uint64_t b, bool is_signed);

/* system.c. Reading: false if the value is unknown. Writing: false if the program cannot be
 * followed any further. */
bool a64_read_system(struct interpreter *, const struct a64_operation *);
bool a64_write_system(struct interpreter *, const struct a64_operation *, bool known);

/* atomic.c, structure.c: FULL if done, otherwise why the interpreter must stop */
enum interpreter_stop a64_atomic(struct interpreter *, const struct a64_operation *,
                                 struct a64_step *);
enum interpreter_stop a64_compare_and_swap(struct interpreter *, const struct a64_operation *,
                                           struct a64_step *);
enum interpreter_stop a64_load_exclusive(struct interpreter *, const struct a64_operation *,
                                         struct a64_step *);
enum interpreter_stop a64_store_exclusive(struct interpreter *, const struct a64_operation *,
                                          struct a64_step *);
enum interpreter_stop a64_structure(struct interpreter *, const struct a64_operation *,
                                    struct a64_step *);
enum interpreter_stop a64_zero_block(struct interpreter *, struct a64_step *);
enum interpreter_stop a64_vector_load(struct interpreter *, const struct a64_operation *,
                                      struct a64_step *);
enum interpreter_stop a64_vector_store(struct interpreter *, const struct a64_operation *,
                                       struct a64_step *);

/* vector.c, scalable.c */
enum interpreter_stop a64_vector(struct interpreter *, const struct a64_operation *,
                                 struct a64_step *);
enum interpreter_stop a64_scalable(struct interpreter *, const struct a64_operation *,
                                   struct a64_step *);

/* The loop. */
enum interpreter_stop a64_execute(struct interpreter *, struct access *out, size_t capacity,
                                  uint64_t instruction_budget, size_t *count);

#endif
