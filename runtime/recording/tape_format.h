/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a tape (docs/replay.md) that may hold anything: each item lies within the bytes, or there
 * is none. Signal-safe.
 */
#ifndef REUSE_RUNTIME_TAPE_FORMAT_H
#define REUSE_RUNTIME_TAPE_FORMAT_H

#include <elf.h>

#include "recording/tape.h"

enum { TAPE_LINE_BYTES = 64 }; /* of the target's memory, in an item TAPE_LINE */

/* First bytes of a tape. */
struct tape_head {
    unsigned char magic[8]; /* the last is the version of the format */
    uint16_t machine;       /* processor that it is for, as in an ELF file: EM_... */
    uint16_t zero[3];
};

/* Of tapes that this processor can replay. */
struct tape_head tape_head(void);

struct tape_reader {
    const unsigned char *bytes;
    size_t size, at;
    bool diverged; /* something else was wanted; `at` stays there */
};

struct tape_item {
    enum tape_tag tag;
    uint64_t value;             /* of items with eight bytes */
    const unsigned char *bytes; /* of others */
    size_t size;
};

/* NULL, or what is wrong with it, in words that follow its name. */
const char *tape_reader_begin(struct tape_reader *, const void *bytes, size_t size);

/* The next item, without going on; false at the end, at what is no item, or after a divergence. */
bool tape_reader_peek(const struct tape_reader *, struct tape_item *);

/* Goes on to after the item that was peeked at. */
void tape_reader_take(struct tape_reader *, const struct tape_item *);

/* The next item, which must be of this kind (0: of any); else nothing is read any more. At the end
 * of the bytes that is no divergence: the recording was cut off. */
bool tape_reader_expect(struct tape_reader *, enum tape_tag, struct tape_item *);

#endif
