/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See tape_format.h. */
#include "tape_format.h"

#include <string.h>

#include "signal_safe.h"

const unsigned char tape_magic[8] = {'r', 'e', 'u', 's', 'e', 't', 'p', 1};

bool tape_reader_begin(struct tape_reader *reader, const void *bytes, size_t size)
{
    *reader = (struct tape_reader){.bytes = bytes, .size = size, .at = sizeof tape_magic};
    return size >= sizeof tape_magic && memcmp(bytes, tape_magic, sizeof tape_magic) == 0;
}

bool tape_reader_peek(const struct tape_reader *reader, struct tape_item *item)
{
    size_t at = reader->at, left = reader->size - at;
    uint32_t length;

    if (reader->diverged || left == 0)
        return false;
    *item = (struct tape_item){.tag = reader->bytes[at], .bytes = reader->bytes + at + 1};
    left--;
    switch (item->tag) {
    case TAPE_CLOCK:
    case TAPE_CALL:
    case TAPE_SETTING:
    case TAPE_COUNT:
    case TAPE_ATTRIBUTION:
        item->size = sizeof item->value;
        if (left < item->size)
            return false;
        memcpy(&item->value, item->bytes, sizeof item->value);
        return true;
    case TAPE_LINE:
        item->size = TAPE_LINE_BYTES;
        return left >= TAPE_LINE_BYTES;
    case TAPE_LINE_SAME:
    case TAPE_LINE_FAULT:
    case TAPE_END:
        return true;
    default:
        if (left < sizeof length)
            return false;
        memcpy(&length, item->bytes, sizeof length);
        item->bytes += sizeof length;
        item->size = length;
        return left - sizeof length >= length;
    }
}

void tape_reader_take(struct tape_reader *reader, const struct tape_item *item)
{
    reader->at = (size_t)(item->bytes - reader->bytes) + item->size;
}

bool tape_reader_expect(struct tape_reader *reader, enum tape_tag wanted, struct tape_item *item)
{
    if (!tape_reader_peek(reader, item))
        return false;
    if (wanted != 0 && item->tag != wanted) {
        reader->diverged = true;
        return false;
    }
    tape_reader_take(reader, item);
    return true;
}
