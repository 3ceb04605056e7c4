/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls in a piece of code, as far as instructions name what they call. */
#ifndef REUSE_POSTPROC_CALL_SITES_H
#define REUSE_POSTPROC_CALL_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "support/memory.h"
#include "symbols/elf_image.h"

struct call_site {
    uint64_t address; /* link-time, of the instruction */
    uint32_t length;  /* bytes of it */
    uint32_t column;  /* in the source; 0: unknown */
    uint64_t target;
};

typedef ARRAY(struct call_site) call_sites;

/*
 * Appends the direct calls of [low, high), which begins and ends with an instruction, in order of
 * addresses. x86-64 and AArch64; there are none of others.
 */
void call_sites_find(const struct elf_image *, uint64_t low, uint64_t high, uint32_t column,
                     call_sites *out);

/* The C library's functions that allocate; the last one is NULL. */
extern const char *const call_site_allocators[];

/* Whether what is called is one of them. */
bool call_site_allocates(struct elf_image *, const struct call_site *);

#endif
