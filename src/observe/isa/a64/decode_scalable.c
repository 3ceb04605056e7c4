/* SPDX-License-Identifier: BSD-3-Clause */
/* Scalable vectors: families, registers read and written, memory operands. Signal-safe. */
#include "isa/a64/scalable.h"

#include "signal_safe.h"

/* dtype of contiguous loads and broadcasts: bytes of a lane, bytes in memory, sign. */
static void set_data_type(struct a64_scalable_memory *memory, unsigned dtype)
{
    static const uint8_t lanes[16] = {1, 2, 4, 8, 8, 2, 4, 8, 8, 4, 4, 8, 8, 4, 2, 8};
    static const uint8_t bytes[16] = {1, 1, 1, 1, 4, 2, 2, 2, 2, 2, 4, 4, 1, 1, 1, 8};
    memory->element = lanes[dtype];
    memory->memory = bytes[dtype];
    memory->is_signed = dtype == 4 || dtype == 8 || dtype == 9 || (dtype >= 12 && dtype < 15);
}

static void by_register(struct a64_scalable_memory *memory, unsigned scale)
{
    memory->address = SCALABLE_BY_REGISTER;
    memory->scale = scale;
}

static void by_vectors(uint32_t word, struct a64_scalable_memory *memory)
{
    memory->address = SCALABLE_BY_VECTORS;
    memory->immediate = signed_field(word, 16, 4);
}

static void set_structures(struct a64_scalable_memory *memory, unsigned msz, unsigned registers)
{
    memory->element = memory->memory = 1u << msz;
    memory->registers = registers;
}

static bool contiguous_load(uint32_t word, struct a64_scalable_memory *memory)
{
    unsigned dtype = field(word, 21, 4), msz = field(word, 23, 2), opc = field(word, 21, 2);
    bool no_register = register_at(word, 16) == 31;
    memory->loads = true;
    switch (field(word, 13, 3)) {
    case 0:
    case 1: /* ld1rq, ld1ro */
        if (opc > 1)
            return false;
        memory->shape = SHAPE_SEGMENT;
        memory->element = memory->memory = opc ? 32 : 16;
        if (!bit(word, 13)) {
            by_register(memory, msz);
            return !no_register;
        }
        memory->address = SCALABLE_BY_BYTES;
        memory->immediate = signed_field(word, 16, 4) * (int64_t)memory->memory;
        return !bit(word, 20);
    case 2: /* ld1; ldff1 may have no register */
        set_data_type(memory, dtype);
        by_register(memory, (unsigned)__builtin_ctz(memory->memory));
        return !no_register;
    case 3:
        memory->forgives = true;
        set_data_type(memory, dtype);
        by_register(memory, (unsigned)__builtin_ctz(memory->memory));
        return true;
    case 5: /* ld1, ldnf1 */
        memory->forgives = bit(word, 20);
        set_data_type(memory, dtype);
        by_vectors(word, memory);
        return true;
    case 6: /* ldnt1, ld2, ld3, ld4 */
        set_structures(memory, msz, opc + 1);
        by_register(memory, msz);
        return !no_register;
    case 7:
        set_structures(memory, msz, opc + 1);
        by_vectors(word, memory);
        return !bit(word, 20);
    default:
        return false;
    }
}

/* ldr, str of a vector or predicate register. */
static bool whole_register(uint32_t word, struct a64_scalable_memory *memory)
{
    unsigned kind = field(word, 13, 3);
    if ((kind != 2 && kind != 0) || (kind == 0 && bit(word, 4)))
        return false;
    memory->shape = kind == 2 ? SHAPE_REGISTER : SHAPE_PREDICATE;
    memory->address = SCALABLE_BY_VECTORS;
    memory->immediate = signed_field(word, 16, 6) * 8 + field(word, 10, 3);
    memory->element = memory->memory = 1;
    return true;
}

static void scattered(struct a64_scalable_memory *memory, enum a64_scalable_address address,
                      unsigned lane, unsigned msz, unsigned scale)
{
    memory->shape = SHAPE_SCATTERED;
    memory->address = address;
    memory->element = lane;
    memory->memory = 1u << msz;
    memory->scale = scale;
}

static enum a64_scalable_address extended_offsets(bool is_signed)
{
    return is_signed ? SCALABLE_OFFSETS_SXTW : SCALABLE_OFFSETS_UXTW;
}

/* Loads with an address for each lane; and what shares their part of the map of encodings. */
static bool gather(uint32_t word, struct a64_scalable_memory *memory, unsigned lane)
{
    unsigned msz = field(word, 23, 2), kind = field(word, 21, 2);
    bool xs = bit(word, 22), scaled = bit(word, 21), upper = bit(word, 15);
    memory->loads = true;
    memory->is_signed = !bit(word, 14);
    memory->forgives = bit(word, 13) && (!upper || kind != 0);
    if (!upper) {
        scattered(memory, extended_offsets(xs), lane, msz, scaled ? msz : 0);
        memory->prefetches = scaled && msz == 0;
        return true;
    }
    if (kind == 1) {
        scattered(memory, SCALABLE_BASES, lane, msz, 0);
        memory->immediate = (int64_t)field(word, 16, 5) << msz;
        return true;
    }
    if (kind == 0) { /* ldnt1, or a prefetch */
        scattered(memory, SCALABLE_BASES_REGISTER, lane, msz, 0);
        memory->prefetches = bit(word, 13) && bit(word, 14);
        if (lane == 4)
            memory->is_signed = !bit(word, 13);
        return true;
    }
    scattered(memory, SCALABLE_OFFSETS_64, lane, msz, kind == 3 ? msz : 0);
    memory->prefetches = kind == 3 && msz == 0;
    return lane == 8;
}

static bool load_32(uint32_t word, struct a64_scalable_memory *memory)
{
    unsigned top = field(word, 22, 3);
    if (top == 6) {
        memory->loads = true;
        return whole_register(word, memory);
    }
    if (bit(word, 22) && bit(word, 15) && !(field(word, 21, 2) == 1)) {
        memory->loads = true;
        memory->shape = SHAPE_BROADCAST;
        set_data_type(memory, field(word, 23, 2) << 2 | field(word, 13, 2));
        memory->address = SCALABLE_BY_BYTES;
        memory->immediate = (int64_t)field(word, 16, 6) * memory->memory;
        return true;
    }
    if (top == 7) {
        memory->prefetches = true;
        return true;
    }
    if (field(word, 21, 2) == 0 && field(word, 13, 3) == 6) {
        memory->prefetches = true;
        return true;
    }
    return gather(word, memory, 4);
}

static bool store(uint32_t word, struct a64_scalable_memory *memory)
{
    unsigned msz = field(word, 23, 2), size = field(word, 21, 2), kind = field(word, 13, 3);
    bool no_register = register_at(word, 16) == 31;
    if (field(word, 22, 3) == 6 && (kind == 0 || kind == 2))
        return whole_register(word, memory);
    switch (kind) {
    case 2: /* st1 */
        memory->element = 1u << size;
        memory->memory = 1u << msz;
        by_register(memory, msz);
        return size >= msz && !no_register;
    case 3: /* stnt1, st2, st3, st4 */
        set_structures(memory, msz, size + 1);
        by_register(memory, msz);
        return !no_register;
    case 7:
        by_vectors(word, memory);
        if (bit(word, 20)) {
            set_structures(memory, msz, size + 1);
            return true;
        }
        memory->element = 1u << size;
        memory->memory = 1u << msz;
        return size >= msz;
    case 4:
    case 6: /* offsets of 32 bits, zero- or sign-extended */
        scattered(memory, extended_offsets(bit(word, 14)), size >= 2 ? 4 : 8, msz,
                  size & 1 ? msz : 0);
        return true;
    case 5:
        if (size < 2) {
            scattered(memory, SCALABLE_OFFSETS_64, 8, msz, size ? msz : 0);
        } else {
            scattered(memory, SCALABLE_BASES, size == 2 ? 8 : 4, msz, 0);
            memory->immediate = (int64_t)field(word, 16, 5) << msz;
        }
        return true;
    case 1: /* stnt1 */
        scattered(memory, SCALABLE_BASES_REGISTER, size == 2 ? 4 : 8, msz, 0);
        return !(size & 1);
    default:
        return false;
    }
}

bool a64_scalable_memory(uint32_t word, struct a64_scalable_memory *memory)
{
    *memory = (struct a64_scalable_memory){.shape = SHAPE_ELEMENTS, .registers = 1};
    bool known = false;
    switch (field(word, 29, 3)) {
    case 4:
        known = load_32(word, memory);
        break;
    case 5:
        known = contiguous_load(word, memory);
        break;
    case 6:
        known = gather(word, memory, 8);
        break;
    case 7:
        known = store(word, memory);
        break;
    default:
        break;
    }
    return known && (memory->prefetches || memory->memory <= memory->element);
}

static void decode_memory(struct a64_operation *op)
{
    struct a64_scalable_memory memory;
    uint32_t word = op->word;
    if (!a64_scalable_memory(word, &memory))
        return;
    if (memory.prefetches) {
        op->code = A64_NOTHING;
        return;
    }
    op->code = A64_SCALABLE;
    op->shift = SCALABLE_MEMORY;
    op->unknown = UNKNOWN_ADDRESS;
    op->d = (uint8_t)register_at(word, 0);
    op->a = (uint8_t)field(word, 10, 3);
    op->n = (uint8_t)register_at(word, 5);
    op->m = (uint8_t)or_zero(register_at(word, 16));
    op->accesses = SCALABLE_SPAN_MAX / ACCESS_WIDTH_MAX;
    if (memory.shape == SHAPE_SCATTERED)
        op->accesses = VECTOR_BYTES / 4;
    bool bases = memory.address == SCALABLE_BASES || memory.address == SCALABLE_BASES_REGISTER;
    bool offsets = memory.shape == SHAPE_SCATTERED && !bases;
    op->reads = bases ? vector_bit(op->n) : general_bit(op->n);
    if (offsets)
        op->reads |= vector_bit(register_at(word, 16));
    else if (memory.address == SCALABLE_BY_REGISTER || memory.address == SCALABLE_BASES_REGISTER)
        op->reads |= general_bit(op->m);
    for (unsigned i = 0; memory.loads && memory.shape != SHAPE_PREDICATE && i < memory.registers;
         i++)
        op->writes |= vector_bit(op->d + i);
}

static enum a64_scalable_family family_of_04(uint32_t word)
{
    unsigned upper = field(word, 11, 5);
    if (!bit(word, 21))
        return SCALABLE_UNKNOWN_VECTOR;
    if (upper == 0x0a) {
        bool known = field(word, 23, 1) == 0 || register_at(word, 16) == 31;
        return known ? SCALABLE_ADD_LENGTH : SCALABLE_UNKNOWN_GENERAL;
    }
    if (upper == 0x0b) /* lengths of streaming vectors */
        return SCALABLE_UNKNOWN_GENERAL;
    if (field(word, 10, 6) == 0x38 && !bit(word, 20))
        return SCALABLE_COUNT;
    if (upper == 0x1c && bit(word, 20))
        return SCALABLE_INCREMENT;
    if (field(word, 12, 4) == 15) /* saturating increments */
        return SCALABLE_UNKNOWN_GENERAL;
    if (field(word, 12, 4) == 4)
        return SCALABLE_INDEX;
    if (field(word, 10, 6) <= 1)
        return SCALABLE_ADD;
    return SCALABLE_UNKNOWN_VECTOR;
}

static enum a64_scalable_family family_of_05(uint32_t word)
{
    unsigned kind = field(word, 13, 3);
    if (!bit(word, 21))
        return SCALABLE_UNKNOWN_VECTOR;
    if (kind == 2)
        return SCALABLE_UNKNOWN_PREDICATE;
    if (kind == 5 && (field(word, 17, 4) == 0 || field(word, 17, 4) == 8))
        return SCALABLE_UNKNOWN_GENERAL; /* lasta, lastb, clasta, clastb */
    if (field(word, 10, 6) == 0x0e && field(word, 16, 5) == 0)
        return SCALABLE_DUPLICATE;
    return SCALABLE_UNKNOWN_VECTOR;
}

/* Predicates, as far as bit 21 is clear: all of them write one. */
static enum a64_scalable_family predicate_family(uint32_t word)
{
    if (!bit(word, 14)) /* comparisons with an immediate */
        return SCALABLE_UNKNOWN_PREDICATE;
    if (field(word, 20, 2) == 0 && !bit(word, 15))
        return SCALABLE_LOGICAL;
    if ((word & 0xffffc21f) == 0x2550c000)
        return SCALABLE_TEST;
    if ((word & 0xff3efc10) == 0x2518e000)
        return SCALABLE_TRUE;
    if ((word & 0xfffffff0) == 0x2518e400)
        return SCALABLE_FALSE;
    if ((word & 0xfffffff0) == 0x2519f000)
        return SCALABLE_READ_FAULT;
    return SCALABLE_UNKNOWN_PREDICATE;
}

static enum a64_scalable_family family_of_25(uint32_t word)
{
    unsigned upper = field(word, 11, 5);
    if (!bit(word, 21))
        return predicate_family(word);
    if (field(word, 13, 3) == 0)
        return SCALABLE_WHILE;
    if (field(word, 14, 2) == 1) /* psel */
        return SCALABLE_UNKNOWN_PREDICATE;
    if (field(word, 10, 6) == 8)
        return SCALABLE_UNKNOWN_FLAGS; /* cterm */
    if (field(word, 10, 6) == 12)
        return SCALABLE_UNKNOWN_PREDICATE; /* whilerw, whilewr */
    if (field(word, 16, 5) == 0 && field(word, 14, 2) == 2 && !bit(word, 9))
        return SCALABLE_COUNT_ACTIVE;
    if ((word & 0xfffffe1f) == 0x25289000 || word == 0x252c9000)
        return SCALABLE_WRITE_FAULT;
    if (upper == 0x11 && field(word, 18, 3) == 3)
        return field(word, 9, 2) == 0 ? SCALABLE_INCREMENT_ACTIVE : SCALABLE_UNKNOWN_GENERAL;
    if (upper == 0x11)
        return SCALABLE_UNKNOWN_GENERAL; /* saturating */
    if (field(word, 14, 2) == 3 && field(word, 16, 5) == 0x18)
        return SCALABLE_DUPLICATE;
    return SCALABLE_UNKNOWN_VECTOR;
}

static enum a64_scalable_family family_of_65(uint32_t word)
{
    bool compares = !bit(word, 21) && bit(word, 14);
    bool with_zero = field(word, 18, 4) == 4 && field(word, 13, 3) == 1;
    return compares || with_zero ? SCALABLE_UNKNOWN_PREDICATE : SCALABLE_UNKNOWN_VECTOR;
}

static enum a64_scalable_family family_of(uint32_t word)
{
    switch (field(word, 24, 8)) {
    case 0x04:
        return family_of_04(word);
    case 0x05:
        return family_of_05(word);
    case 0x24:
        return SCALABLE_UNKNOWN_PREDICATE;
    case 0x25:
        return family_of_25(word);
    case 0x45:
        return bit(word, 21) && field(word, 13, 3) == 4 ? SCALABLE_UNKNOWN_PREDICATE
                                                        : SCALABLE_UNKNOWN_VECTOR;
    case 0x65:
        return family_of_65(word);
    default:
        return SCALABLE_UNKNOWN_VECTOR;
    }
}

/* General registers that a family reads and writes; vectors. */
static void set_registers(struct a64_operation *op, enum a64_scalable_family family)
{
    uint32_t word = op->word;
    unsigned d = register_at(word, 0), n = register_at(word, 5), m = register_at(word, 16);
    op->d = (uint8_t)or_sink(d);
    op->n = (uint8_t)or_zero(n);
    op->m = (uint8_t)or_zero(m);
    switch (family) {
    case SCALABLE_ADD_LENGTH: /* addvl, addpl: stack pointers; rdvl: n is the end of its opcode */
        op->d = (uint8_t)(bit(word, 23) ? or_sink(d) : d);
        op->n = (uint8_t)(bit(word, 23) ? REGISTER_ZERO : m);
        op->reads = general_bit(op->n);
        op->writes = general_bit(op->d);
        break;
    case SCALABLE_INCREMENT:
    case SCALABLE_INCREMENT_ACTIVE:
        op->reads = op->writes = general_bit(op->d);
        break;
    case SCALABLE_COUNT:
    case SCALABLE_COUNT_ACTIVE:
    case SCALABLE_UNKNOWN_GENERAL:
        op->writes = general_bit(op->d);
        break;
    case SCALABLE_DUPLICATE:
        op->d = (uint8_t)d;
        op->n = (uint8_t)n;
        op->reads = bit(word, 29) ? 0 : general_bit(n);
        op->writes = vector_bit(d);
        break;
    case SCALABLE_INDEX:
        op->d = (uint8_t)d;
        op->reads =
            (bit(word, 10) ? general_bit(op->n) : 0) | (bit(word, 11) ? general_bit(op->m) : 0);
        op->writes = vector_bit(d);
        break;
    case SCALABLE_ADD:
        op->d = (uint8_t)d;
        op->reads = vector_bit(n) | vector_bit(m);
        op->writes = vector_bit(d);
        break;
    case SCALABLE_UNKNOWN_VECTOR:
        op->writes = vector_bit(d);
        break;
    default:
        break;
    }
}

void a64_decode_scalable(struct a64_operation *op)
{
    if (bit(op->word, 31)) {
        decode_memory(op);
        return;
    }
    enum a64_scalable_family family = family_of(op->word);
    op->code = A64_SCALABLE;
    op->shift = (uint8_t)family;
    op->unknown = UNKNOWN_RESULT;
    set_registers(op, family);
}
