/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores. Signal-safe. */
#include "isa/a64/decode.h"

#include "signal_safe.h"

static void set_base(struct a64_operation *op)
{
    op->n = (uint8_t)register_at(op->word, 5);
    op->unknown = UNKNOWN_ADDRESS;
    op->reads |= general_bit(op->n);
}

/* A general register that is loaded or stored. */
static unsigned transferred(unsigned r, bool loads)
{
    return loads ? or_sink(r) : or_zero(r);
}

/* Writing back a base that is itself transferred has no defined outcome. */
static bool base_is_written_back(const struct a64_operation *op)
{
    return op->mode == ADDRESSING_PRE || op->mode == ADDRESSING_POST;
}

/* Register and width of a single general or vector register; opc as in "load/store register". */
static bool set_single(struct a64_operation *op, unsigned size, bool vector, unsigned opc)
{
    static const uint8_t loads[4] = {A64_LOAD_8, A64_LOAD_16, A64_LOAD_32, A64_LOAD_64};
    static const uint8_t stores[4] = {A64_STORE_8, A64_STORE_16, A64_STORE_32, A64_STORE_64};
    unsigned t = register_at(op->word, 0);
    op->accesses = 1;
    if (vector) {
        if (opc & 2 && size != 0)
            return false;
        op->d = (uint8_t)t;
        op->width = (uint8_t)(opc & 2 ? 16 : 1 << size);
        op->code = opc & 1 ? A64_VECTOR_LOAD : A64_VECTOR_STORE;
        op->writes = opc & 1 ? vector_bit(t) : 0;
        return true;
    }
    if (size == 3 && opc == 2) { /* prefetch */
        op->code = A64_NOTHING;
        op->accesses = 0;
        op->unknown = UNKNOWN_RESULT;
        op->reads = 0;
        return true;
    }
    if (opc >= 2 && (size == 3 || (size == 2 && opc == 3)))
        return false;
    op->width = (uint8_t)(1u << size);
    op->d = (uint8_t)transferred(t, opc != 0);
    op->writes = opc != 0 ? general_bit(op->d) : 0;
    op->code = opc == 0   ? stores[size]
               : opc == 1 ? loads[size]
               : opc == 2 ? A64_LOAD_SIGNED_64
                          : A64_LOAD_SIGNED_32;
    return !(base_is_written_back(op) && t == op->n && t != 31);
}

static void refuse(struct a64_operation *op)
{
    op->code = A64_UNKNOWN;
    op->unknown = UNKNOWN_RESULT;
    op->accesses = 0;
    op->reads = op->writes = 0;
}

static void decode_register_offset(struct a64_operation *op, unsigned size)
{
    uint32_t word = op->word;
    unsigned opc = field(word, 22, 2), option = field(word, 13, 3);
    static const uint8_t modes[8] = {
        [2] = ADDRESSING_UXTW, [3] = ADDRESSING_LSL, [6] = ADDRESSING_SXTW, [7] = ADDRESSING_LSL};
    bool vector = bit(word, 26);
    if (!(option & 2))
        return;
    op->mode = modes[option];
    op->m = (uint8_t)or_zero(register_at(word, 16));
    op->shift = (uint8_t)(!bit(word, 12) ? 0 : vector && opc & 2 ? 4 : size);
    op->reads = general_bit(op->m);
    set_base(op);
    if (!set_single(op, size, vector, opc))
        refuse(op);
}

static void decode_immediate_offset(struct a64_operation *op, unsigned size)
{
    static const uint8_t modes[4] = {ADDRESSING_OFFSET, ADDRESSING_POST, ADDRESSING_OFFSET,
                                     ADDRESSING_PRE};
    uint32_t word = op->word;
    unsigned opc = field(word, 22, 2), kind = field(word, 10, 2);
    bool vector = bit(word, 26);
    op->mode = modes[kind];
    op->immediate = signed_field(word, 12, 9);
    set_base(op);
    if ((kind == 2 && vector) || !set_single(op, size, vector, opc) ||
        (op->code == A64_NOTHING && kind != 0))
        refuse(op);
}

static void decode_unsigned_offset(struct a64_operation *op, unsigned size)
{
    uint32_t word = op->word;
    unsigned opc = field(word, 22, 2);
    bool vector = bit(word, 26);
    op->mode = ADDRESSING_OFFSET;
    op->immediate = (int64_t)field(word, 10, 12) << (vector && opc & 2 ? 4 : size);
    set_base(op);
    if (!set_single(op, size, vector, opc))
        refuse(op);
}

static void decode_atomic(struct a64_operation *op, unsigned size)
{
    uint32_t word = op->word;
    unsigned opcode = field(word, 12, 4), t = register_at(word, 0);
    if (bit(word, 26))
        return;
    if (opcode == 12 && bit(word, 23) && !bit(word, 22)) { /* ldapr */
        op->mode = ADDRESSING_OFFSET;
        set_base(op);
        set_single(op, size, false, 1);
        return;
    }
    if (opcode > 8)
        return;
    op->code = A64_ATOMIC;
    op->shift = (uint8_t)opcode;
    op->width = (uint8_t)(1u << size);
    op->accesses = 2;
    op->m = (uint8_t)or_zero(register_at(word, 16));
    op->d = (uint8_t)or_sink(t);
    op->writes = general_bit(op->d);
    set_base(op);
}

static void decode_register_class(struct a64_operation *op)
{
    uint32_t word = op->word;
    unsigned size = field(word, 30, 2);
    if (bit(word, 24))
        decode_unsigned_offset(op, size);
    else if (!bit(word, 21))
        decode_immediate_offset(op, size);
    else if (field(word, 10, 2) == 0)
        decode_atomic(op, size);
    else if (field(word, 10, 2) == 2)
        decode_register_offset(op, size);
}

static void decode_literal(struct a64_operation *op)
{
    uint32_t word = op->word;
    unsigned opc = field(word, 30, 2), t = register_at(word, 0);
    op->mode = ADDRESSING_LITERAL;
    op->immediate = signed_field(word, 5, 19) * 4;
    op->unknown = UNKNOWN_ADDRESS;
    op->accesses = 1;
    if (bit(word, 26)) {
        if (opc == 3) {
            refuse(op);
            return;
        }
        op->code = A64_VECTOR_LOAD;
        op->d = (uint8_t)t;
        op->width = (uint8_t)(4u << opc);
        op->writes = vector_bit(t);
    } else if (opc == 3) { /* prefetch */
        op->code = A64_NOTHING;
        op->accesses = 0;
    } else {
        op->code = opc == 0 ? A64_LOAD_32 : opc == 1 ? A64_LOAD_64 : A64_LOAD_SIGNED_64;
        op->width = opc == 1 ? 8 : 4;
        op->d = (uint8_t)or_sink(t);
        op->writes = general_bit(op->d);
    }
}

/* ldapur, stlur. */
static void decode_ordered_offset(struct a64_operation *op)
{
    uint32_t word = op->word;
    if (bit(word, 21) || field(word, 10, 2) != 0 || bit(word, 26))
        return;
    op->mode = ADDRESSING_OFFSET;
    op->immediate = signed_field(word, 12, 9);
    set_base(op);
    if (!set_single(op, field(word, 30, 2), false, field(word, 22, 2)) || op->code == A64_NOTHING)
        refuse(op);
}

static void decode_pair(struct a64_operation *op)
{
    static const uint8_t modes[4] = {ADDRESSING_OFFSET, ADDRESSING_POST, ADDRESSING_OFFSET,
                                     ADDRESSING_PRE};
    uint32_t word = op->word;
    unsigned opc = field(word, 30, 2), kind = field(word, 23, 2);
    unsigned t = register_at(word, 0), t2 = register_at(word, 10);
    bool vector = bit(word, 26), loads = bit(word, 22);
    bool is_signed = !vector && opc == 1;
    if (opc == 3 || (is_signed && (!loads || kind == 0))) /* stgp stores tags as well */
        return;
    if (loads && t == t2)
        return;
    op->mode = modes[kind];
    op->width = (uint8_t)(vector ? 4u << opc : opc == 2 ? 8 : 4);
    op->immediate = signed_field(word, 15, 7) * op->width;
    op->accesses = 1;
    if (vector) {
        op->code = loads ? A64_VECTOR_LOAD_PAIR : A64_VECTOR_STORE_PAIR;
        op->d = (uint8_t)t;
        op->a = (uint8_t)t2;
        op->writes = loads ? vector_bit(t) | vector_bit(t2) : 0;
    } else {
        op->code = !loads ? A64_STORE_PAIR : is_signed ? A64_LOAD_PAIR_SIGNED : A64_LOAD_PAIR;
        op->d = (uint8_t)transferred(t, loads);
        op->a = (uint8_t)transferred(t2, loads);
        op->writes = loads ? general_bit(op->d) | general_bit(op->a) : 0;
    }
    set_base(op);
    if (!vector && base_is_written_back(op) && op->n != 31 && (t == op->n || t2 == op->n))
        refuse(op);
}

/* Compare and swap of one register or of a pair of two that follow each other. */
static void decode_compare_and_swap(struct a64_operation *op, unsigned width, bool pair)
{
    uint32_t word = op->word;
    unsigned s = register_at(word, 16), t = register_at(word, 0);
    if (register_at(word, 10) != 31 || (pair && (s | t) & 1))
        return;
    op->code = A64_COMPARE_AND_SWAP;
    op->width = (uint8_t)width;
    op->shift = pair;
    op->accesses = 2;
    op->m = (uint8_t)s;
    op->d = (uint8_t)t;
    op->writes = general_bit(or_sink(s)) | (pair ? general_bit(or_sink(s + 1)) : 0);
    set_base(op);
}

static void decode_exclusive(struct a64_operation *op)
{
    uint32_t word = op->word;
    unsigned size = field(word, 30, 2), t = register_at(word, 0), t2 = register_at(word, 10);
    bool loads = bit(word, 22), pair = bit(word, 21);
    if (bit(word, 23)) {
        if (pair) {
            decode_compare_and_swap(op, 1u << size, false);
        } else { /* ldar, stlr */
            op->mode = ADDRESSING_OFFSET;
            set_base(op);
            set_single(op, size, false, loads);
        }
        return;
    }
    if (pair && size < 2) {
        decode_compare_and_swap(op, 4u << size, true);
        return;
    }
    op->code = loads ? A64_LOAD_EXCLUSIVE : A64_STORE_EXCLUSIVE;
    op->shift = pair;
    op->width = (uint8_t)(1u << size);
    op->accesses = 1;
    op->d = (uint8_t)transferred(t, loads);
    op->a = (uint8_t)(pair ? transferred(t2, loads) : REGISTER_ZERO);
    set_base(op);
    if (loads) {
        op->writes = general_bit(op->d) | general_bit(op->a);
        if (pair && t == t2)
            refuse(op);
        return;
    }
    unsigned status = register_at(word, 16);
    op->m = (uint8_t)or_sink(status);
    op->writes = general_bit(op->m);
    if (status != 31 && (status == t || (pair && status == t2) || status == op->n))
        refuse(op);
}

static void set_structure(struct a64_operation *op, unsigned bytes, unsigned registers, bool loads)
{
    uint32_t word = op->word;
    unsigned m = register_at(word, 16);
    op->code = A64_STRUCTURE;
    op->d = (uint8_t)register_at(word, 0);
    op->width = (uint8_t)bytes;
    op->accesses = 1;
    op->mode = ADDRESSING_OFFSET;
    if (bit(word, 23)) {
        op->mode = m == 31 ? ADDRESSING_POST : ADDRESSING_POST_BY;
        op->immediate = bytes;
        op->m = (uint8_t)or_zero(m);
        op->reads = general_bit(op->m);
    }
    set_base(op);
    for (unsigned i = 0; loads && i < registers; i++)
        op->writes |= vector_bit(op->d + i);
}

/* ld1 to ld4 and st1 to st4 of whole registers. */
static void decode_structures(struct a64_operation *op)
{
    static const uint8_t registers[16] = {
        [0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2};
    uint32_t word = op->word;
    unsigned opcode = field(word, 12, 4), count = registers[opcode];
    bool interleaved = opcode == 0 || opcode == 4 || opcode == 8;
    bool full = bit(word, 30);
    if (count == 0 || (interleaved && !full && field(word, 10, 2) == 3))
        return;
    set_structure(op, count * (full ? 16 : 8), count, bit(word, 22));
}

/* One element to each of one to four registers, or one to all elements of each. */
static void decode_structure_element(struct a64_operation *op)
{
    uint32_t word = op->word;
    unsigned opcode = field(word, 13, 3), size = field(word, 10, 2), scale = opcode >> 1;
    unsigned registers = ((opcode & 1) << 1 | bit(word, 21)) + 1;
    bool loads = bit(word, 22), s = bit(word, 12);
    switch (scale) {
    case 1:
        if (size & 1)
            return;
        break;
    case 2:
        if (size & 2 || (size == 1 && s))
            return;
        scale += size;
        break;
    case 3:
        if (!loads || s)
            return;
        scale = size;
        break;
    default:
        break;
    }
    set_structure(op, registers << scale, registers, loads);
    op->shift = (uint8_t)scale;
    op->a = (uint8_t)registers;
}

static void decode_structure_class(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool post = bit(word, 23), single = bit(word, 24);
    if (bit(word, 31) || (!post && register_at(word, 16) != 0) || (!single && bit(word, 21)))
        return;
    if (single)
        decode_structure_element(op);
    else
        decode_structures(op);
}

void a64_decode_memory(struct a64_operation *op)
{
    uint32_t word = op->word;
    switch (field(word, 28, 2)) {
    case 0:
        if (bit(word, 26))
            decode_structure_class(op);
        else if (!bit(word, 24))
            decode_exclusive(op);
        break;
    case 1:
        if (bit(word, 24))
            decode_ordered_offset(op);
        else
            decode_literal(op);
        break;
    case 2:
        decode_pair(op);
        break;
    case 3:
        decode_register_class(op);
        break;
    }
}
