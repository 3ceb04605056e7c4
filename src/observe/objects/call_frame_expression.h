/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The byte level of call frame information: integers, and expressions evaluated symbolically.
 * Internal to call_frame*.c. Signal-safe.
 */
#ifndef REUSE_OBJECTS_CALL_FRAME_EXPRESSION_H
#define REUSE_OBJECTS_CALL_FRAME_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "objects/call_frame.h"

/* Reads from `at`; a read across `end` sets failed and gives 0. */
struct frame_reader {
    const uint8_t *at, *end;
    bool failed;
};

static inline uint8_t frame_read_byte(struct frame_reader *reader)
{
    if (reader->at >= reader->end) {
        reader->failed = true;
        return 0;
    }
    return *reader->at++;
}

uint64_t frame_read_unsigned(struct frame_reader *reader, unsigned bytes); /* 2, 4 or 8 */
uint64_t frame_read_uleb128(struct frame_reader *reader);
int64_t frame_read_sleb128(struct frame_reader *reader);

/* A value that is known but for the registers' contents. */
enum frame_value_kind {
    FRAME_VALUE_UNKNOWN = 0,
    FRAME_VALUE_CONSTANT,    /* offset */
    FRAME_VALUE_REGISTER,    /* reg + offset */
    FRAME_VALUE_DEREFERENCE, /* *(reg + offset) + addend */
};

struct frame_value {
    enum frame_value_kind kind;
    uint64_t reg;
    int64_t offset, addend;
};

/* Where a register was saved. */
struct frame_saved {
    enum call_frame_place place;
    int64_t offset;
};

/* The top of the stack after the expression (DWARF 4, section 2.5); ip stands for the instruction
 * pointer where the machine has a register number for it. */
struct frame_value frame_evaluate(struct frame_reader *expression, uint64_t ip);

#endif
