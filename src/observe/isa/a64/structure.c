/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads and stores of vector registers. Signal-safe. */
#include "isa/a64/decode.h"
#include "isa/a64/execute.h"
#include "isa/a64/system.h"
#include "isa/memory.h"
#include "isa/report.h"

#include "signal_safe.h"

enum interpreter_stop a64_vector_load(struct interpreter *it, const struct a64_operation *op,
                                      struct a64_step *step)
{
    unsigned count = op->code == A64_VECTOR_LOAD_PAIR ? 2 : 1, width = op->width;
    uint8_t bytes[2][16];
    enum memory_outcome outcome[2];
    for (unsigned i = 0; i < count; i++) {
        outcome[i] = memory_read(it, step->address + i * width, bytes[i], width);
        if (outcome[i] == MEMORY_FAULT)
            return INTERPRETER_UNREADABLE;
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned v = i ? op->a : op->d;
        a64_set_vector(it, v, bytes[i], width);
        if (outcome[i] == MEMORY_POISONED)
            step->fresh |= vector_bit(v);
    }
    report_access(&step->out, step->ip, step->address,
                  access_tail(count * width, ACCESS_LOAD, false));
    return INTERPRETER_FULL;
}

enum interpreter_stop a64_vector_store(struct interpreter *it, const struct a64_operation *op,
                                       struct a64_step *step)
{
    unsigned count = op->code == A64_VECTOR_STORE_PAIR ? 2 : 1, width = op->width;
    if (store_buffer_room(&it->store) < 4)
        return INTERPRETER_STORE_BUFFER;
    for (unsigned i = 0; i < count; i++) {
        unsigned v = i ? op->a : op->d;
        store_buffer_write(&it->store, step->address + i * width,
                           step->poison & vector_bit(v) ? NULL : it->vector[v], width);
    }
    report_access(&step->out, step->ip, step->address,
                  access_tail(count * width, ACCESS_STORE, false));
    return INTERPRETER_FULL;
}

/* Where each byte in memory belongs: register (0..3) and byte in it. */
struct place {
    uint8_t reg, byte;
};

/* Whole registers: one after the other, or element by element in turn. */
static void place_whole(const struct a64_operation *op, struct place *places)
{
    unsigned opcode = field(op->word, 12, 4), full = bit(op->word, 30) ? 16 : 8;
    unsigned registers = op->width / full, element = 1u << field(op->word, 10, 2);
    bool interleaved = opcode == 0 || opcode == 4 || opcode == 8;
    for (unsigned i = 0; i < op->width; i++) {
        unsigned group = interleaved ? i / (element * registers) : 0;
        unsigned in_group = interleaved ? i % (element * registers) : i;
        unsigned piece = interleaved ? element : full;
        places[i].reg = (uint8_t)(in_group / piece);
        places[i].byte = (uint8_t)(group * element + in_group % piece);
    }
}

/* The element with an index from the bits Q, S and size. */
static void place_element(const struct a64_operation *op, struct place *places)
{
    unsigned element = 1u << op->shift;
    unsigned index = (field(op->word, 30, 1) << 3 | field(op->word, 10, 3)) >> op->shift;
    for (unsigned i = 0; i < op->width; i++) {
        places[i].reg = (uint8_t)(i / element);
        places[i].byte = (uint8_t)(index * element + i % element);
    }
}

static void replicate(struct interpreter *it, const struct a64_operation *op, const uint8_t *bytes)
{
    unsigned element = 1u << op->shift, full = bit(op->word, 30) ? 16 : 8;
    for (unsigned i = 0; i < op->a; i++) {
        uint8_t *vector = it->vector[(op->d + i) % 32];
        memset(vector, 0, VECTOR_BYTES);
        for (unsigned at = 0; at < full; at++)
            vector[at] = bytes[i * element + at % element];
    }
}

static enum interpreter_stop load_structure(struct interpreter *it, const struct a64_operation *op,
                                            struct a64_step *step, const struct place *places)
{
    bool single = bit(op->word, 24), replicates = single && field(op->word, 14, 2) == 3;
    unsigned full = single || bit(op->word, 30) ? 16 : 8;
    uint8_t bytes[ACCESS_WIDTH_MAX];
    enum memory_outcome outcome = memory_read(it, step->address, bytes, op->width);
    if (outcome == MEMORY_FAULT)
        return INTERPRETER_UNREADABLE;
    if (replicates)
        replicate(it, op, bytes);
    for (unsigned i = 0; !replicates && i < op->width; i++) {
        uint8_t *vector = it->vector[(op->d + places[i].reg) % 32];
        vector[places[i].byte] = bytes[i];
        memset(vector + full, 0, VECTOR_BYTES - full);
    }
    if (outcome == MEMORY_POISONED)
        step->fresh = op->writes;
    else if (single && !replicates)
        step->fresh = op->writes & step->poison; /* the other elements stay as they are */
    report_access(&step->out, step->ip, step->address, access_tail(op->width, ACCESS_LOAD, false));
    return INTERPRETER_FULL;
}

enum interpreter_stop a64_structure(struct interpreter *it, const struct a64_operation *op,
                                    struct a64_step *step)
{
    struct place places[ACCESS_WIDTH_MAX];
    uint8_t bytes[ACCESS_WIDTH_MAX];
    bool known = true;
    if (bit(op->word, 24))
        place_element(op, places);
    else
        place_whole(op, places);
    if (bit(op->word, 22))
        return load_structure(it, op, step, places);
    if (store_buffer_room(&it->store) < 2)
        return INTERPRETER_STORE_BUFFER;
    for (unsigned i = 0; i < op->width; i++) {
        unsigned v = (op->d + places[i].reg) % 32;
        known = known && !(step->poison & vector_bit(v));
        bytes[i] = it->vector[v][places[i].byte];
    }
    store_buffer_write(&it->store, step->address, known ? bytes : NULL, op->width);
    report_access(&step->out, step->ip, step->address, access_tail(op->width, ACCESS_STORE, false));
    return INTERPRETER_FULL;
}

enum interpreter_stop a64_zero_block(struct interpreter *it, struct a64_step *step)
{
    static const uint8_t zeros[ACCESS_WIDTH_MAX];
    enum { PROHIBITED = 16 };
    uint64_t identification = a64_dczid(), size = UINT64_C(4) << (identification & 15);
    if (identification & PROHIBITED || size > A64_ZERO_BLOCK_MAX)
        return INTERPRETER_UNKNOWN;
    if (store_buffer_room(&it->store) < size / STORE_LINE + 1)
        return INTERPRETER_STORE_BUFFER;
    uint64_t address = step->address & ~(size - 1);
    for (uint64_t done = 0; done < size; done += ACCESS_WIDTH_MAX) {
        unsigned piece =
            size - done < ACCESS_WIDTH_MAX ? (unsigned)(size - done) : ACCESS_WIDTH_MAX;
        store_buffer_write(&it->store, address + done, zeros, piece);
        report_access(&step->out, step->ip, address + done,
                      access_tail(piece, ACCESS_STORE, false));
    }
    return INTERPRETER_FULL;
}
