/* SPDX-License-Identifier: BSD-3-Clause */
/* Vector instructions that move lanes about. Signal-safe. */
#include "isa/a64/vector.h"

#include "signal_safe.h"

bool a64_vector_copy(struct interpreter *it, const struct a64_operation *op,
                     struct a64_lanes *result)
{
    enum { DUP_ELEMENT, DUP_GENERAL, INS_GENERAL = 3, SMOV = 5, UMOV = 7 };
    uint32_t word = op->word;
    unsigned imm5 = field(word, 16, 5), kind = field(word, 11, 4);
    if ((imm5 & 15) == 0)
        return false;
    unsigned scale = (unsigned)__builtin_ctz(imm5), size = 1u << scale, index = imm5 >> (scale + 1);
    bool inserts_element = bit(word, 29), scalar = bit(word, 28);
    uint64_t value;
    if (inserts_element) {
        memcpy(result->bytes, it->vector[op->d], 16);
        set_lane(result, index, size, lane(it->vector[op->n], kind >> scale, size));
        return true;
    }
    switch (kind) {
    case DUP_ELEMENT:
    case DUP_GENERAL:
        value = kind == DUP_GENERAL ? it->r[op->n] : lane(it->vector[op->n], index, size);
        for (unsigned i = 0; i < (scalar ? 1 : vector_extent(word, size) / size); i++)
            set_lane(result, i, size, value);
        return true;
    case INS_GENERAL:
        memcpy(result->bytes, it->vector[op->d], 16);
        set_lane(result, index, size, it->r[op->n]);
        return true;
    case SMOV:
        value = (uint64_t)bytes_signed(lane(it->vector[op->n], index, size), size);
        it->r[op->d] = bit(word, 30) ? value : (uint32_t)value;
        return true;
    case UMOV:
        it->r[op->d] = lane(it->vector[op->n], index, size);
        return true;
    default:
        return false;
    }
}

bool a64_vector_permute(struct interpreter *it, const struct a64_operation *op,
                        struct a64_lanes *result)
{
    enum { UZP = 1, TRN, ZIP };
    uint32_t word = op->word;
    unsigned kind = field(word, 12, 2), size = 1u << field(word, 22, 2);
    unsigned second = field(word, 14, 1), lanes = vector_extent(word, size) / size;
    const uint8_t *from[2] = {it->vector[op->n], it->vector[op->m]};
    if (lanes < 2 || kind == 0)
        return false;
    for (unsigned i = 0; i < lanes; i++) {
        unsigned at, which = i & 1;
        if (kind == UZP) {
            at = (2 * i + second) % lanes;
            which = 2 * i + second >= lanes;
        } else if (kind == TRN) {
            at = (i & ~1u) + second;
        } else {
            at = i / 2 + second * lanes / 2;
        }
        set_lane(result, i, size, lane(from[which], at, size));
    }
    return true;
}

bool a64_vector_extract(struct interpreter *it, const struct a64_operation *op,
                        struct a64_lanes *result)
{
    unsigned from = field(op->word, 11, 4), bytes = vector_extent(op->word, 1);
    if (from >= bytes)
        return false;
    memcpy(result->bytes, it->vector[op->n] + from, bytes - from);
    memcpy(result->bytes + bytes - from, it->vector[op->m], from);
    return true;
}

bool a64_vector_table(struct interpreter *it, const struct a64_operation *op,
                      struct a64_lanes *result)
{
    unsigned registers = field(op->word, 13, 2) + 1;
    for (unsigned i = 0; i < vector_extent(op->word, 1); i++) {
        unsigned index = it->vector[op->m][i];
        bool inside = index < 16 * registers;
        uint8_t outside = bit(op->word, 12) ? it->vector[op->d][i] : 0;
        result->bytes[i] = inside ? it->vector[(op->n + index / 16) % 32][index % 16] : outside;
    }
    return true;
}

/* movi, mvni, orr, bic, fmov: the constant of section "AdvSIMDExpandImm". */
bool a64_vector_immediate(struct interpreter *it, const struct a64_operation *op,
                          struct a64_lanes *result)
{
    uint32_t word = op->word;
    unsigned cmode = field(word, 12, 4);
    bool inverts = bit(word, 29), combines = cmode < 12 && cmode & 1;
    uint64_t value = (uint64_t)op->immediate;
    for (unsigned i = 0; i < vector_extent(word, 8) / 8; i++) {
        uint64_t old = lane(it->vector[op->d], i, 8), out = value;
        if (combines)
            out = inverts ? old & ~value : old | value;
        else if (inverts && cmode < 14)
            out = ~value;
        set_lane(result, i, 8, out);
    }
    return true;
}
