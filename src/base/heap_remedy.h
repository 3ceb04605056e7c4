/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `reuse-run --try` takes: a change to heap blocks that can be timed before anybody edits
 * code. Findings of `reuse-report` print it.
 *
 *     align:MODULE+0xADDRESS=BYTES, hugepages:MODULE+0xADDRESS, or several by commas
 *
 * align: the blocks that are allocated by the call at ADDRESS of MODULE begin at multiples of BYTES
 * and fill whole ones. MODULE is a file name without its folders, ADDRESS one as the linker gave
 * it: of the call's last byte, as reports name the place, or of the instruction behind it.
 * hugepages: those of 2 MiB and more begin at multiples of that, and the kernel is asked for huge
 * pages for them; smaller ones stay as they are. Pure; reading needs no memory but the caller's.
 * Safe before main().
 */
#ifndef REUSE_HEAP_REMEDY_H
#define REUSE_HEAP_REMEDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HEAP_REMEDY_MAX = 16,           /* allocation sites of one run */
    HEAP_REMEDY_MODULE_MAX = 255,   /* bytes of a file name */
    HEAP_REMEDY_ALIGNMENT_MIN = 16, /* bytes */
    HEAP_REMEDY_ALIGNMENT_MAX = 4096,
    HEAP_REMEDY_HUGE_PAGE = 2 << 20, /* bytes; of x86-64, and of A64 with pages of 4 KiB */
};

struct heap_remedy {
    char module[HEAP_REMEDY_MODULE_MAX + 1];
    uint64_t address;   /* link-time, of the allocating call's last byte or behind it */
    uint32_t alignment; /* bytes, a power of two */
    bool huge_pages;    /* alignment is HEAP_REMEDY_HUGE_PAGE, of blocks that large */
};

struct heap_remedies {
    struct heap_remedy items[HEAP_REMEDY_MAX];
    size_t count;
};

/* Returns NULL, or what is wrong: a clause that follows the text and a colon. Lives forever. */
const char *heap_remedies_read(const char *text, struct heap_remedies *);

#endif
