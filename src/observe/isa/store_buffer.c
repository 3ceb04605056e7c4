/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/store_buffer.h"

#include "signal_safe.h"

void store_buffer_clear(struct store_buffer *buffer)
{
    for (uint32_t i = 0; i < buffer->lines_used; i++)
        buffer->keys[buffer->lines[i].slot] = 0;
    buffer->lines_used = 0;
    buffer->many = false;
    memset(buffer->pages, 0, sizeof buffer->pages);
}

static void place(struct store_buffer *buffer, uint32_t number, unsigned slot)
{
    struct store_line *line = &buffer->lines[number];

    buffer->keys[slot] = line->key;
    buffer->lines_of[slot] = (uint16_t)number;
    line->slot = (uint16_t)slot;
}

/* Goes over to all slots. */
static void spread(struct store_buffer *buffer)
{
    for (uint32_t i = 0; i < buffer->lines_used; i++)
        buffer->keys[buffer->lines[i].slot] = 0;
    buffer->many = true;
    for (uint32_t i = 0; i < buffer->lines_used; i++) {
        unsigned slot = store_buffer_slot(buffer, buffer->lines[i].key - 1);

        while (buffer->keys[slot] != 0)
            slot = store_buffer_after(buffer, slot);
        place(buffer, i, slot);
    }
}

struct store_line *store_buffer_make(struct store_buffer *buffer, uint64_t address)
{
    struct store_line *line;
    unsigned slot;

    if (buffer->lines_used == STORE_LINES_FEW && !buffer->many)
        spread(buffer);
    for (slot = store_buffer_slot(buffer, address); buffer->keys[slot] != 0;
         slot = store_buffer_after(buffer, slot))
        if (buffer->keys[slot] == (address | 1))
            return &buffer->lines[buffer->lines_of[slot]];
    line = &buffer->lines[buffer->lines_used];
    line->key = address | 1;
    place(buffer, buffer->lines_used++, slot);
    buffer->pages[address >> 18 & 7] |= UINT64_C(1) << (address >> 12 & 63);
    line->written = 0;
    line->poisoned = 0;
    line->avoided = false;
    return line;
}

void store_buffer_write(struct store_buffer *buffer, uint64_t address, const void *value,
                        unsigned size)
{
    const uint8_t *bytes = value;
    while (size > 0) {
        unsigned offset = address % STORE_LINE;
        unsigned piece = size < STORE_LINE - offset ? size : STORE_LINE - offset;
        struct store_line *line = store_buffer_make(buffer, address - offset);
        uint64_t mask = store_buffer_mask(piece) << offset;
        line->written |= mask;
        if (bytes) {
            memcpy(line->data + offset, bytes, piece);
            line->poisoned &= ~mask;
            bytes += piece;
        } else {
            line->poisoned |= mask;
        }
        address += piece;
        size -= piece;
    }
}

bool store_buffer_overlay(struct store_buffer *buffer, uint64_t address, uint8_t *bytes,
                          unsigned size)
{
    bool poisoned = false;
    while (size > 0) {
        unsigned offset = address % STORE_LINE;
        unsigned piece = size < STORE_LINE - offset ? size : STORE_LINE - offset;
        const struct store_line *line = store_buffer_find(buffer, address - offset);
        if (line) {
            uint64_t mask = store_buffer_mask(piece) << offset;
            poisoned |= (line->poisoned & mask) != 0;
            for (uint64_t left = line->written & mask; left != 0; left &= left - 1) {
                unsigned i = (unsigned)__builtin_ctzll(left);
                bytes[i - offset] = line->data[i];
            }
        }
        address += piece;
        bytes += piece;
        size -= piece;
    }
    return poisoned;
}

bool store_buffer_covers(struct store_buffer *buffer, uint64_t address, unsigned size)
{
    while (size > 0) {
        unsigned offset = address % STORE_LINE;
        unsigned piece = size < STORE_LINE - offset ? size : STORE_LINE - offset;
        const struct store_line *line = store_buffer_find(buffer, address - offset);
        uint64_t mask = store_buffer_mask(piece) << offset;
        if (!line || (line->written & mask) != mask)
            return false;
        address += piece;
        size -= piece;
    }
    return true;
}

bool store_buffer_touches(struct store_buffer *buffer, uint64_t address, uint64_t size)
{
    uint64_t end = address + size;
    for (uint64_t at = address; at < end;) {
        unsigned offset = at % STORE_LINE;
        unsigned piece =
            end - at < STORE_LINE - offset ? (unsigned)(end - at) : STORE_LINE - offset;
        const struct store_line *line = store_buffer_find(buffer, at - offset);
        if (line && line->written & store_buffer_mask(piece) << offset)
            return true;
        at += piece;
    }
    return false;
}
