/* SPDX-License-Identifier: BSD-3-Clause */
/* See code_image.h. */
#include "perfdata/code_image.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "pmu/bytes.h"

void code_image_open(struct code_image *image, const char *path)
{
    char message[512];
    size_t count = 0;

    memset(image, 0, sizeof *image);
    image->elf = elf_image_open(path, message, sizeof message);
    if (!image->elf)
        return;
    image->bytes = elf_rawfile(image->elf->elf, &image->size);
    if (!image->bytes)
        image->size = 0;
    if (elf_getphdrnum(image->elf->elf, &count) != 0)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;

        if (gelf_getphdr(image->elf->elf, (int)i, &header) && header.p_type == PT_LOAD) {
            struct code_segment segment = {header.p_offset, header.p_vaddr, header.p_filesz,
                                           header.p_memsz, header.p_align};

            ARRAY_PUSH(&image->segments, segment);
        }
    }
}

void code_image_close(struct code_image *image)
{
    free(image->segments.items);
    if (image->elf)
        elf_image_close(image->elf);
}

/* What an offset or address within a page is. */
static uint64_t page_mask(const struct code_segment *segment)
{
    return segment->alignment > 1 ? segment->alignment - 1 : 0;
}

uint64_t code_image_address(const struct code_image *image, uint64_t offset)
{
    uint64_t address = offset;

    for (size_t i = 0; i < image->segments.count; i++) {
        const struct code_segment *segment = &image->segments.items[i];

        if (offset >= (segment->offset & ~page_mask(segment)) &&
            offset < segment->offset + segment->file_size)
            address = segment->address - segment->offset + offset;
    }
    return address;
}

bool code_image_extent(const struct code_image *image, uint64_t *low, uint64_t *high)
{
    *low = UINT64_MAX;
    *high = 0;
    for (size_t i = 0; i < image->segments.count; i++) {
        const struct code_segment *segment = &image->segments.items[i];

        if (segment->address < *low)
            *low = segment->address & ~page_mask(segment);
        if (segment->address + segment->memory_size > *high)
            *high = segment->address + segment->memory_size;
    }
    return *low <= *high;
}

bool code_image_read(const struct code_image *image, uint64_t address, uint64_t *word)
{
    for (size_t i = 0; i < image->segments.count; i++) {
        const struct code_segment *segment = &image->segments.items[i];
        uint64_t within = address - segment->address, at = segment->offset + within;

        if (address < segment->address || within >= segment->file_size ||
            segment->file_size - within < sizeof *word)
            continue;
        if (at < within || at > image->size || image->size - at < sizeof *word)
            return false;
        *word = load64((const uint8_t *)image->bytes + at);
        return true;
    }
    return false;
}

bool code_image_unwind_table(const struct code_image *image, uint64_t *header, uint64_t *entries)
{
    /* Version 1; pointer to .eh_frame relative to itself, number of entries, entries relative to
     * the header; all of four bytes. */
    static const unsigned char usual[4] = {0x01, 0x1b, 0x03, 0x3b};
    enum { AT_COUNT = 8, AT_TABLE = 12, ENTRY = 8 };
    size_t count = 0;

    if (!image->elf || elf_getphdrnum(image->elf->elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes;
        GElf_Phdr segment;

        if (!gelf_getphdr(image->elf->elf, (int)i, &segment) || segment.p_type != PT_GNU_EH_FRAME)
            continue;
        if (segment.p_offset > image->size || image->size - segment.p_offset < AT_TABLE ||
            segment.p_filesz < AT_TABLE)
            return false;
        bytes = (const uint8_t *)image->bytes + segment.p_offset;
        *header = segment.p_vaddr;
        *entries = load32(bytes + AT_COUNT);
        return memcmp(bytes, usual, sizeof usual) == 0 &&
               *entries <= (segment.p_filesz - AT_TABLE) / ENTRY;
    }
    return false;
}
