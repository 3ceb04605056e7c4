/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The unit of everything: one memory access.
 *
 * An access is what one executed instruction does to one contiguous memory operand. A
 * read-modify-write instruction is a load and then a store (two accesses). A string instruction
 * under a repeat prefix is one access per element and operand. User space only.
 */
#ifndef REUSE_ACCESS_H
#define REUSE_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

enum access_kind {
    ACCESS_LOAD = 1,
    ACCESS_STORE = 2,
};

enum { ACCESS_WIDTH_MAX = 64 }; /* bytes; longer operands (xsave, fxsave) come in pieces of these */

struct access {
    uint64_t ip;            /* address of the instruction that makes the access */
    uint64_t address;       /* first byte touched */
    uint8_t width;          /* bytes, 1..ACCESS_WIDTH_MAX */
    uint8_t kind;           /* enum access_kind */
    bool read_modify_write; /* either half of a read-modify-write pair */
    bool exclusive;         /* of an exclusive load or store (ldxr, stxr) */
};

/* Line sizes that the product works with: 32..4096 bytes, powers of two. */
enum {
    LINE_SIZE_MIN = 32,
    LINE_SIZE_MAX = 4096,
    LINE_SIZE_DEFAULT = 64,
    LINE_SIZE_COUNT = 8, /* 32, 64, ... 4096 */
};

/* Index of a line size in tables of LINE_SIZE_COUNT entries: 32 -> 0 ... 4096 -> 7. */
static inline int line_size_index(uint32_t line_size)
{
    return __builtin_ctz(line_size) - 5;
}

/* True for 32, 64, ... 4096. */
static inline bool line_size_is_valid(uint64_t line_size)
{
    return line_size >= LINE_SIZE_MIN && line_size <= LINE_SIZE_MAX &&
           (line_size & (line_size - 1)) == 0;
}

#endif
