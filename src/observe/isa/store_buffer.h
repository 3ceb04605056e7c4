/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private store buffer of one look-ahead: what the interpreted program has written, byte by byte,
 * over memory that stays untouched.
 *
 * Kept by 64-byte lines in a pool that grows densely, found through an open-addressing hash, so
 * that emptying costs what was used. Bytes written with unknown values are poisoned. Not
 * thread-safe. Async-signal-safe.
 */
#ifndef REUSE_ISA_STORE_BUFFER_H
#define REUSE_ISA_STORE_BUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * A burst whose accesses all store to lines of their own fits into the table's first slots, which
 * stay in a near cache. Who looks ahead farther may fill all of it.
 */
enum {
    STORE_LINE = 64,
    STORE_LINES = 32768,
    STORE_SLOT_BITS_FEW = 13,
    STORE_LINES_FEW = 4224, /* that go into so many slots */
    STORE_SLOT_BITS = 16,
    STORE_SLOTS = 1 << STORE_SLOT_BITS
};

struct store_line {
    uint8_t data[STORE_LINE];
    uint64_t written;  /* bit i: byte i was written */
    uint64_t poisoned; /* bit i: byte i was written with an unknown value */
    uint64_t key;      /* as in keys[] */
    uint16_t slot;
    bool avoided; /* what is not written must not be read by a plain load */
};

struct store_buffer {
    uint32_t lines_used;
    bool many; /* all slots are used, not the first 1 << STORE_SLOT_BITS_FEW alone */
    /* Pages (hashed) that were written to: a quick test for code that was. */
    uint64_t pages[8];
    uint64_t keys[STORE_SLOTS]; /* line address | 1, or 0 */
    uint16_t lines_of[STORE_SLOTS];
    struct store_line lines[STORE_LINES];
};

static inline unsigned store_buffer_slot(const struct store_buffer *buffer, uint64_t line)
{
    unsigned bits = buffer->many ? STORE_SLOT_BITS : STORE_SLOT_BITS_FEW;

    return (unsigned)((line * UINT64_C(0x9E3779B97F4A7C15)) >> (64 - bits));
}

static inline unsigned store_buffer_after(const struct store_buffer *buffer, unsigned slot)
{
    return (slot + 1) & (buffer->many ? STORE_SLOTS - 1 : (1 << STORE_SLOT_BITS_FEW) - 1);
}

/* Line at address (a multiple of 64), or NULL if nothing was written there. */
static inline struct store_line *store_buffer_find(struct store_buffer *buffer, uint64_t address)
{
    for (unsigned slot = store_buffer_slot(buffer, address);;
         slot = store_buffer_after(buffer, slot)) {
        if (buffer->keys[slot] == (address | 1))
            return &buffer->lines[buffer->lines_of[slot]];
        if (buffer->keys[slot] == 0)
            return NULL;
    }
}

/* size low bits set, size 1..64. */
static inline uint64_t store_buffer_mask(unsigned size)
{
    return ~UINT64_C(0) >> (64 - size);
}

static inline bool store_buffer_page_written(const struct store_buffer *buffer, uint64_t address)
{
    return buffer->pages[address >> 18 & 7] >> (address >> 12 & 63) & 1;
}

/* Lines that may still be added. A store of at most 64 bytes adds at most two. */
static inline unsigned store_buffer_room(const struct store_buffer *buffer)
{
    return STORE_LINES - buffer->lines_used;
}

void store_buffer_clear(struct store_buffer *);

/* Line at address, made if need be; the caller has checked that there is room. */
struct store_line *store_buffer_make(struct store_buffer *, uint64_t address);

/* Writes size bytes (1..64) at any address; value NULL writes poison. There must be room. */
void store_buffer_write(struct store_buffer *, uint64_t address, const void *value, unsigned size);

/*
 * Lays what was written over bytes[0..size), which hold memory at address; returns whether one of
 * the bytes is poisoned.
 */
bool store_buffer_overlay(struct store_buffer *, uint64_t address, uint8_t *bytes, unsigned size);

/* Whether all size bytes (1..64) at address were written, so that memory need not be read. */
bool store_buffer_covers(struct store_buffer *, uint64_t address, unsigned size);

/* Whether one of size bytes at address was written. */
bool store_buffer_touches(struct store_buffer *, uint64_t address, uint64_t size);

#endif
