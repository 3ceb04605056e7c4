/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where functions begin that have no symbol: the call frame information for exceptions says so of
 * nearly all code of a stripped file, with a table to search (.eh_frame_hdr).
 * Format: Linux Standard Base Core 5.0, section 10.6.
 */
#ifndef REUSE_POSTPROC_FRAME_RANGE_H
#define REUSE_POSTPROC_FRAME_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_image.h"

/* A section's bytes, of the image, and where they are linked to. */
struct section_bytes {
    const unsigned char *data;
    size_t size;
    uint64_t address;
};

/* Both sections, found once: many addresses are asked for. All zero at first; as long-lived as the
 * image. */
struct frame_ranges {
    bool looked_for, found;
    struct section_bytes table, frames;
};

/* The link-time start of the function that holds an address. False if the file has no such table,
 * in the one encoding that linkers write, or no entry of it covers the address. */
bool frame_range_start(struct frame_ranges *, const struct elf_image *, uint64_t address,
                       uint64_t *start);

/* Where the last function begins that does so at the address or before it, wherever it ends. */
bool frame_range_before(struct frame_ranges *, const struct elf_image *, uint64_t address,
                        uint64_t *start);

#endif
