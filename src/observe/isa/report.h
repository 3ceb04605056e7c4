/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing accesses to the caller's buffer, three words each. Signal-safe. */
#ifndef REUSE_ISA_REPORT_H
#define REUSE_ISA_REPORT_H

#include <stddef.h>

#include "access.h"

/* The last 8 bytes of struct access in one word. */
static inline uint64_t access_tail(unsigned width, enum access_kind kind, bool read_modify_write)
{
    return width | (uint64_t)kind << 8 | (uint64_t)read_modify_write << 16;
}

/* That of an exclusive load or store. */
static inline uint64_t access_tail_exclusive(unsigned width, enum access_kind kind)
{
    return access_tail(width, kind, false) | UINT64_C(1) << 24;
}

static inline void report_access(struct access **out, uint64_t ip, uint64_t address, uint64_t tail)
{
    typedef uint64_t __attribute__((may_alias)) word;
    word *raw = (word *)*out;
    _Static_assert(sizeof **out == 3 * sizeof *raw && offsetof(struct access, width) == 16 &&
                       offsetof(struct access, kind) == 17 &&
                       offsetof(struct access, read_modify_write) == 18 &&
                       offsetof(struct access, exclusive) == 19,
                   "layout of struct access");
    /* One by one: three words copied together are read as vectors, for which the processor waits
     * until the words are out of its store queue. */
    raw[0] = ip;
    raw[1] = address;
    raw[2] = tail;
    (*out)++;
}

#endif
