/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where variables and functions begin in a file without symbols: its code has their addresses.
 * Compilers load the address of an array, a structure or a function with one instruction (x86-64:
 * lea with a displacement from the next instruction) or two (A64: adrp, add). Single numbers are
 * often used without that: they count to what begins before them. Functions are called as well, and
 * tables of functions are relocated.
 */
#ifndef REUSE_POSTPROC_NAMELESS_STARTS_H
#define REUSE_POSTPROC_NAMELESS_STARTS_H

#include <stdbool.h>

#include "symbols/elf_image.h"

typedef ARRAY(uint64_t) nameless_starts;

/*
 * Link-time addresses of data that the code loads, or of code that is loaded, called or relocated;
 * ascending, each once; the caller frees the items. Empty for other machines, and but for calls
 * for code that is linked to fixed addresses.
 */
void data_starts_find(const struct elf_image *, nameless_starts *);
void code_starts_find(const struct elf_image *, nameless_starts *);

/* The last of them in [low, address]; false: there is none. */
bool nameless_starts_before(const nameless_starts *, uint64_t low, uint64_t address,
                            uint64_t *start);

#endif
