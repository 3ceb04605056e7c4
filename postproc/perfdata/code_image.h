/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One executable file as a process has it in memory: which link-time address belongs to an offset
 * of the file, what stands there, and the table by which stacks are unwound. Any file is survived.
 */
#ifndef REUSE_POSTPROC_CODE_IMAGE_H
#define REUSE_POSTPROC_CODE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/elf_image.h"

struct code_segment {
    uint64_t offset, address; /* in the file, and link-time */
    uint64_t file_size, memory_size, alignment;
};

struct code_image {
    struct elf_image *elf; /* NULL: the file cannot be read */
    const char *bytes;     /* of the file */
    size_t size;
    ARRAY(struct code_segment) segments;
};

/* Takes the file of that path; without it the image is empty. */
void code_image_open(struct code_image *, const char *path);
void code_image_close(struct code_image *);

/* Link-time address of an offset. Without the file, offsets are taken for addresses. */
uint64_t code_image_address(const struct code_image *, uint64_t offset);

/* From the lowest to the highest address of any segment; false without segments. */
bool code_image_extent(const struct code_image *, uint64_t *low, uint64_t *high);

/* The word at a link-time address, as it is in the file. */
bool code_image_read(const struct code_image *, uint64_t address, uint64_t *word);

/* Link-time address of .eh_frame_hdr and how many entries its sorted table has. False without one,
 * or in another form than linkers give it. */
bool code_image_unwind_table(const struct code_image *, uint64_t *header, uint64_t *entries);

#endif
