/* SPDX-License-Identifier: BSD-3-Clause */
/* Scalable vectors: predicates, counts, indices. Signal-safe. */
#include "isa/a64/scalable.h"

#include "isa/a64/vector.h"

#include "signal_safe.h"

/* Bytes of an element, by the field size. */
static unsigned element_of(uint32_t word)
{
    return 1u << field(word, 22, 2);
}

/* The bits of predicates that stand for elements. */
static uint64_t element_bits(const struct interpreter *it, unsigned element)
{
    static const uint64_t every[4] = {~UINT64_C(0), 0x5555555555555555, 0x1111111111111111,
                                      0x0101010101010101};
    return every[__builtin_ctz(element)] & store_buffer_mask(it->vector_length);
}

/* How many elements a pattern of ptrue, cntb and the like names. */
static unsigned counted(unsigned pattern, unsigned elements)
{
    enum { POW2, VL8 = 8, VL16 = 9, VL256 = 13, MUL4 = 29, MUL3, ALL };
    unsigned wanted = pattern <= VL8 ? pattern : 16u << (pattern - VL16);
    switch (pattern) {
    case POW2:
        return 1u << (31 - __builtin_clz(elements));
    case MUL4:
        return elements - elements % 4;
    case MUL3:
        return elements - elements % 3;
    case ALL:
        return elements;
    default:
        return pattern > VL256 || wanted > elements ? 0 : wanted;
    }
}

static unsigned counted_by(const struct interpreter *it, uint32_t word)
{
    return counted(field(word, 5, 5), it->vector_length / element_of(word));
}

/* The flags that predicate-generating instructions set: first active element true, none true, last
 * active element false. */
static void test(struct interpreter *it, uint64_t governing, uint64_t result)
{
    uint64_t both = governing & result, first = governing & -governing;
    bool last = governing && both >> (63 - __builtin_clzll(governing)) & 1;
    it->flags.nzcv = (both & first ? FLAG_N : 0) | (both == 0 ? FLAG_Z : 0) | (last ? 0 : FLAG_C);
    it->flags.unknown = it->flags.from_result = false;
}

static void set_predicate(struct interpreter *it, unsigned p, uint64_t bits, bool known)
{
    it->predicate[p] = bits;
    it->predicate_poison = (it->predicate_poison & ~(1u << p)) | (uint32_t)!known << p;
}

static bool is_known(const struct interpreter *it, unsigned p)
{
    return !(it->predicate_poison >> p & 1);
}

static void unknown_predicate(struct interpreter *it, uint32_t word)
{
    set_predicate(it, field(word, 0, 4), 0, false);
    it->flags.unknown = true;
}

static void while_loop(struct interpreter *it, const struct a64_operation *op,
                       const struct a64_step *step)
{
    uint32_t word = op->word;
    bool wide = bit(word, 12), is_unsigned = bit(word, 11), less = bit(word, 10);
    bool or_equal = bit(word, 4), holds = true;
    unsigned element = element_of(word), size = wide ? 8 : 4;
    uint64_t a = it->r[op->n], b = it->r[op->m] & bytes_mask(size), bits = 0;
    if (!less || step->poison & (general_bit(op->n) | general_bit(op->m))) {
        unknown_predicate(it, word);
        return;
    }
    for (unsigned lane = 0; lane < it->vector_length / element; lane++, a++) {
        uint64_t value = a & bytes_mask(size);
        bool below = is_unsigned ? value < b : bytes_signed(value, size) < bytes_signed(b, size);
        holds = holds && (below || (or_equal && value == b));
        bits |= (uint64_t)holds << lane * element;
    }
    set_predicate(it, field(word, 0, 4), bits, true);
    test(it, element_bits(it, element), bits);
}

static void logical(struct interpreter *it, uint32_t word)
{
    unsigned g = field(word, 10, 4), n = field(word, 5, 4), m = field(word, 16, 4);
    uint64_t governing = it->predicate[g], a = it->predicate[n], b = it->predicate[m], out;
    bool sets_flags = bit(word, 22);
    switch (field(word, 23, 1) << 2 | field(word, 9, 1) << 1 | field(word, 4, 1)) {
    case 0:
        out = a & b;
        break;
    case 1:
        out = a & ~b;
        break;
    case 2:
        out = a ^ b;
        break;
    case 3: /* sel */
        out = (a & governing) | (b & ~governing);
        governing = ~UINT64_C(0);
        break;
    case 4:
        out = a | b;
        break;
    case 5:
        out = a | ~b;
        break;
    case 6:
        out = ~(a | b);
        break;
    default:
        out = ~(a & b);
        break;
    }
    bool known = is_known(it, g) && is_known(it, n) && is_known(it, m);
    out &= governing & store_buffer_mask(it->vector_length);
    set_predicate(it, field(word, 0, 4), out, known);
    if (sets_flags) {
        test(it, governing, out);
        it->flags.unknown = !known;
    }
}

static void test_predicate(struct interpreter *it, uint32_t word)
{
    unsigned g = field(word, 10, 4), n = field(word, 5, 4);
    test(it, it->predicate[g], it->predicate[n]);
    it->flags.unknown = !is_known(it, g) || !is_known(it, n);
}

/* cntp, incp, decp; false: unknown. */
static bool count_active(struct interpreter *it, const struct a64_operation *op)
{
    uint32_t word = op->word;
    bool counts = op->shift == SCALABLE_COUNT_ACTIVE;
    unsigned n = field(word, 5, 4), g = counts ? field(word, 10, 4) : n;
    uint64_t both = it->predicate[g] & it->predicate[n] & element_bits(it, element_of(word));
    unsigned count = (unsigned)__builtin_popcountll(both);
    if (counts)
        it->r[op->d] = count;
    else
        it->r[op->d] += bit(word, 16) ? -(uint64_t)count : count;
    return is_known(it, g) && is_known(it, n);
}

static void write_fault_register(struct interpreter *it, uint32_t word)
{
    unsigned n = field(word, 5, 4);
    if (bit(word, 18)) /* setffr */
        set_predicate(it, PREDICATE_FFR, store_buffer_mask(it->vector_length), true);
    else
        set_predicate(it, PREDICATE_FFR, it->predicate[n], is_known(it, n));
}

static void add_length(struct interpreter *it, const struct a64_operation *op)
{
    int64_t by = signed_field(op->word, 5, 6);
    unsigned unit = bit(op->word, 22) ? it->vector_length / 8 : it->vector_length;
    it->r[op->d] = it->r[op->n] + (uint64_t)(by * (int64_t)unit);
}

static void set_all(struct interpreter *it, const struct a64_operation *op, uint64_t first,
                    uint64_t step)
{
    unsigned element = element_of(op->word);
    uint8_t *vector = it->vector[op->d];
    memset(vector, 0, VECTOR_BYTES);
    for (unsigned lane = 0; lane < it->vector_length / element; lane++, first += step)
        memcpy(vector + lane * element, &first, element);
}

static void duplicate(struct interpreter *it, const struct a64_operation *op)
{
    bool from_immediate = bit(op->word, 29);
    uint64_t immediate = (uint64_t)signed_field(op->word, 5, 8) << (bit(op->word, 13) ? 8 : 0);
    set_all(it, op, from_immediate ? immediate : it->r[op->n], 0);
}

static void index_lanes(struct interpreter *it, const struct a64_operation *op)
{
    uint32_t word = op->word;
    uint64_t first = bit(word, 10) ? it->r[op->n] : (uint64_t)signed_field(word, 5, 5);
    uint64_t step = bit(word, 11) ? it->r[op->m] : (uint64_t)signed_field(word, 16, 5);
    set_all(it, op, first, step);
}

static void add_lanes(struct interpreter *it, const struct a64_operation *op)
{
    unsigned element = element_of(op->word);
    const uint8_t *n = it->vector[register_at(op->word, 5)];
    const uint8_t *m = it->vector[register_at(op->word, 16)];
    for (unsigned i = 0; i < it->vector_length / element; i++) {
        uint64_t a = lane(n, i, element), b = lane(m, i, element);
        uint64_t out = bit(op->word, 10) ? a - b : a + b;
        memcpy(it->vector[op->d] + i * element, &out, element);
    }
}

enum interpreter_stop a64_scalable(struct interpreter *it, const struct a64_operation *op,
                                   struct a64_step *step)
{
    uint32_t word = op->word;
    if (it->vector_length == 0)
        return INTERPRETER_UNKNOWN;
    switch ((enum a64_scalable_family)op->shift) {
    case SCALABLE_MEMORY:
        return a64_scalable_transfer(it, op, step);
    case SCALABLE_UNKNOWN_VECTOR:
    case SCALABLE_UNKNOWN_GENERAL:
        step->fresh = op->writes;
        break;
    case SCALABLE_UNKNOWN_PREDICATE:
        unknown_predicate(it, word);
        break;
    case SCALABLE_UNKNOWN_FLAGS:
        it->flags.unknown = true;
        break;
    case SCALABLE_COUNT:
        it->r[op->d] = counted_by(it, word) * (field(word, 16, 4) + 1);
        break;
    case SCALABLE_INCREMENT: {
        uint64_t by = counted_by(it, word) * (field(word, 16, 4) + 1);
        it->r[op->d] += bit(word, 10) ? -by : by;
        break;
    }
    case SCALABLE_ADD_LENGTH:
        add_length(it, op);
        break;
    case SCALABLE_TRUE: {
        uint64_t bits = element_bits(it, element_of(word));
        unsigned covered = counted_by(it, word) * element_of(word);
        bits &= covered ? store_buffer_mask(covered) : 0;
        set_predicate(it, field(word, 0, 4), bits, true);
        if (bit(word, 16))
            test(it, bits, bits);
        break;
    }
    case SCALABLE_FALSE:
        set_predicate(it, field(word, 0, 4), 0, true);
        break;
    case SCALABLE_WHILE:
        while_loop(it, op, step);
        break;
    case SCALABLE_TEST:
        test_predicate(it, word);
        break;
    case SCALABLE_LOGICAL:
        logical(it, word);
        break;
    case SCALABLE_COUNT_ACTIVE:
    case SCALABLE_INCREMENT_ACTIVE:
        if (!count_active(it, op))
            step->fresh = op->writes;
        break;
    case SCALABLE_READ_FAULT:
        set_predicate(it, field(word, 0, 4), it->predicate[PREDICATE_FFR],
                      is_known(it, PREDICATE_FFR));
        break;
    case SCALABLE_WRITE_FAULT:
        write_fault_register(it, word);
        break;
    case SCALABLE_DUPLICATE:
        duplicate(it, op);
        break;
    case SCALABLE_INDEX:
        index_lanes(it, op);
        break;
    case SCALABLE_ADD:
        add_lanes(it, op);
        break;
    }
    return INTERPRETER_FULL;
}
