/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/frame_range.h"

#include <string.h>

static bool find_section(const struct elf_image *image, const char *name,
                         struct section_bytes *bytes)
{
    bytes->data = elf_image_section_data(image, name, &bytes->size);
    return bytes->data != NULL && elf_image_section_address(image, name, &bytes->address);
}

/* 4 bytes at a link-time address; false outside the section. */
static bool read_word(const struct section_bytes *bytes, uint64_t address, int32_t *word)
{
    uint64_t offset = address - bytes->address;

    if (address < bytes->address || bytes->size < sizeof(*word) ||
        offset > bytes->size - sizeof(*word))
        return false;
    memcpy(word, bytes->data + offset, sizeof(*word));
    return true;
}

enum {
    HEADER = 12, /* version, three encodings, address of .eh_frame, number of entries */
    ENTRY = 8,   /* start of the function, its frame description: both from the header on */
    VERSION = 1,
    ENCODING_COUNT = 0x03, /* DW_EH_PE_udata4 */
    ENCODING_TABLE = 0x3b, /* DW_EH_PE_datarel | DW_EH_PE_sdata4 */
};

/* The last entry that begins at the address or before it. */
static bool find_entry(const struct section_bytes *header, uint64_t address, uint64_t *start,
                       uint64_t *description)
{
    int32_t count, word;
    uint64_t low = 0, high;

    if (header->size < HEADER || header->data[0] != VERSION || header->data[2] != ENCODING_COUNT ||
        header->data[3] != ENCODING_TABLE || !read_word(header, header->address + 8, &count) ||
        count <= 0 || (header->size - HEADER) / ENTRY < (uint64_t)count)
        return false;
    high = (uint64_t)count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (!read_word(header, header->address + HEADER + middle * ENTRY, &word))
            return false;
        if (header->address + (uint64_t)(int64_t)word <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || !read_word(header, header->address + HEADER + (low - 1) * ENTRY, &word))
        return false;
    *start = header->address + (uint64_t)(int64_t)word;
    if (!read_word(header, header->address + HEADER + (low - 1) * ENTRY + 4, &word))
        return false;
    *description = header->address + (uint64_t)(int64_t)word;
    return true;
}

static bool look_for(struct frame_ranges *ranges, const struct elf_image *image)
{
    if (!ranges->looked_for) {
        ranges->looked_for = true;
        ranges->found = find_section(image, ".eh_frame_hdr", &ranges->table) &&
                        find_section(image, ".eh_frame", &ranges->frames);
    }
    return ranges->found;
}

bool frame_range_before(struct frame_ranges *ranges, const struct elf_image *image,
                        uint64_t address, uint64_t *start)
{
    uint64_t description;

    return look_for(ranges, image) && find_entry(&ranges->table, address, start, &description);
}

bool frame_range_start(struct frame_ranges *ranges, const struct elf_image *image, uint64_t address,
                       uint64_t *start)
{
    uint64_t description;
    int32_t begin, length;

    if (!look_for(ranges, image) || !find_entry(&ranges->table, address, start, &description))
        return false;
    /* Behind the lengths of the description and of what it refers to: where the code begins, from
     * here on, and how long it is. Whoever encodes it otherwise gives another start. */
    return read_word(&ranges->frames, description + 8, &begin) &&
           description + 8 + (uint64_t)(int64_t)begin == *start &&
           read_word(&ranges->frames, description + 12, &length) &&
           address - *start < (uint32_t)length;
}
