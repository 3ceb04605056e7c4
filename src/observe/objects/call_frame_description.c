/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "objects/call_frame_description.h"

#include <stddef.h>
#include <string.h>

#include "objects/call_frame.h"

#include "signal_safe.h"

/* Encodings of pointers (LSB 10.5.1). */
enum {
    ENCODING_POINTER = 0x00,
    ENCODING_ULEB128 = 0x01,
    ENCODING_UDATA2 = 0x02,
    ENCODING_UDATA4 = 0x03,
    ENCODING_UDATA8 = 0x04,
    ENCODING_SLEB128 = 0x09,
    ENCODING_SDATA2 = 0x0a,
    ENCODING_SDATA4 = 0x0b,
    ENCODING_SDATA8 = 0x0c,
    ENCODING_FORMAT = 0x0f,
    ENCODING_PC_RELATIVE = 0x10,
    ENCODING_DATA_RELATIVE = 0x30,
    ENCODING_APPLICATION = 0x70,
    ENCODING_OMIT = 0xff,
};

/* Reads a pointer that is absolute or relative to its own place; other encodings fail the reader.
 */
static uint64_t read_pointer(struct frame_reader *reader, uint8_t encoding)
{
    const uint64_t place = (uint64_t)(uintptr_t)reader->at;
    uint64_t value;
    switch (encoding & ENCODING_FORMAT) {
    case ENCODING_POINTER:
    case ENCODING_UDATA8:
    case ENCODING_SDATA8:
        value = frame_read_unsigned(reader, 8);
        break;
    case ENCODING_UDATA4:
        value = frame_read_unsigned(reader, 4);
        break;
    case ENCODING_SDATA4:
        value = (uint64_t)(int64_t)(int32_t)frame_read_unsigned(reader, 4);
        break;
    case ENCODING_UDATA2:
        value = frame_read_unsigned(reader, 2);
        break;
    case ENCODING_SDATA2:
        value = (uint64_t)(int64_t)(int16_t)frame_read_unsigned(reader, 2);
        break;
    case ENCODING_ULEB128:
        value = frame_read_uleb128(reader);
        break;
    case ENCODING_SLEB128:
        value = (uint64_t)frame_read_sleb128(reader);
        break;
    default:
        reader->failed = true;
        return 0;
    }
    switch (encoding & ENCODING_APPLICATION) {
    case 0:
        return value;
    case ENCODING_PC_RELATIVE:
        return place + value;
    default:
        reader->failed = true;
        return 0;
    }
}

/* A length field and what it spans; the reader fails on the end marker (0) and the 64-bit format.
 */
static struct frame_reader read_entry(const uint8_t *entry)
{
    struct frame_reader reader = {.at = entry, .end = entry + 4};
    const uint64_t length = frame_read_unsigned(&reader, 4);
    reader.end = reader.at + length;
    reader.failed = length == 0 || length == 0xffffffff;
    return reader;
}

static bool read_common(const uint8_t *entry, struct frame_description *description,
                        uint8_t *encoding)
{
    struct frame_reader reader = read_entry(entry);
    if (reader.failed || frame_read_unsigned(&reader, 4) != 0)
        return false;
    const uint64_t version = frame_read_byte(&reader);
    if (version != 1 && version != 3)
        return false;
    const char *augmentation = (const char *)reader.at;
    while (frame_read_byte(&reader) != 0)
        ;
    description->code_alignment = frame_read_uleb128(&reader);
    description->data_alignment = frame_read_sleb128(&reader);
    const uint64_t return_address =
        version == 1 ? frame_read_byte(&reader) : frame_read_uleb128(&reader);
    if (return_address != CALL_FRAME_RETURN_ADDRESS)
        return false;
    *encoding = ENCODING_POINTER;
    description->is_signal = false;
    if (*augmentation == 'z') {
        const uint64_t length = frame_read_uleb128(&reader);
        const uint8_t *instructions = reader.at + length;
        for (augmentation++; *augmentation != '\0'; augmentation++) {
            switch (*augmentation) {
            case 'R':
                *encoding = frame_read_byte(&reader);
                break;
            case 'L':
                frame_read_byte(&reader);
                break;
            case 'P': {
                /* The personality routine is skipped; only the size of its encoding matters. */
                const uint64_t personality = frame_read_byte(&reader);
                read_pointer(&reader, personality & ENCODING_FORMAT);
                break;
            }
            case 'S':
                description->is_signal = true;
                break;
            case 'B': /* aarch64: return addresses signed with the B key */
                break;
            default:
                return false;
            }
        }
        reader.at = instructions;
    } else if (*augmentation != '\0') {
        return false;
    }
    description->initial = reader;
    return !reader.failed;
}

static bool read_description(const uint8_t *entry, uint64_t ip,
                             struct frame_description *description)
{
    struct frame_reader reader = read_entry(entry);
    const uint8_t *cie_field = reader.at;
    const uint64_t cie_distance = frame_read_unsigned(&reader, 4);
    uint8_t encoding;
    if (reader.failed || cie_distance == 0 ||
        !read_common(cie_field - cie_distance, description, &encoding))
        return false;
    description->start = read_pointer(&reader, encoding);
    const uint64_t length = read_pointer(&reader, encoding & ENCODING_FORMAT);
    /* Every CIE with an augmentation that read_common accepts starts with 'z', or has none. */
    const uint8_t *cie_augmentation = cie_field - cie_distance + 9;
    if (*cie_augmentation == 'z') {
        const uint64_t skip = frame_read_uleb128(&reader);
        reader.at += skip;
    }
    description->program = reader;
    return !reader.failed && ip - description->start < length;
}

/* The entry for ip by binary search in the table of .eh_frame_hdr; NULL when there is none. */
static const uint8_t *search_table(const void *header, uint64_t ip)
{
    const uint8_t *bytes = header;
    struct frame_reader reader = {.at = bytes, .end = bytes + 64};
    const uint64_t version = frame_read_byte(&reader);
    const uint8_t frame_encoding = frame_read_byte(&reader);
    const uint8_t count_encoding = frame_read_byte(&reader);
    const uint64_t table_encoding = frame_read_byte(&reader);
    if (version != 1 || count_encoding == ENCODING_OMIT ||
        table_encoding != (ENCODING_DATA_RELATIVE | ENCODING_SDATA4))
        return NULL;
    read_pointer(&reader, frame_encoding);
    const uint64_t count = read_pointer(&reader, count_encoding);
    if (reader.failed || count == 0)
        return NULL;
    /* Pairs of (first address, entry), each relative to the header, sorted by address. */
    const uint8_t *table = reader.at;
    uint64_t low = 0, high = count; /* entries below `low` start at or before ip */
    int32_t pair[2];
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        memcpy(pair, table + middle * sizeof pair, sizeof pair);
        if ((uint64_t)(uintptr_t)bytes + (uint64_t)(int64_t)pair[0] <= ip)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    memcpy(pair, table + (low - 1) * sizeof pair, sizeof pair);
    return bytes + pair[1];
}

bool frame_description_find(const void *eh_frame_header, uint64_t ip,
                            struct frame_description *description)
{
    const uint8_t *entry = search_table(eh_frame_header, ip);
    return entry != NULL && read_description(entry, ip, description);
}
