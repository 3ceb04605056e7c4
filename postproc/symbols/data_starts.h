/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where variables begin in a file without symbols: its code has their addresses. Compilers load the
 * address of an array or a structure with one instruction (x86-64: lea with a displacement from the
 * next instruction) or two (A64: adrp, add). Single numbers are often used without that: they count
 * to what begins before them.
 */
#ifndef REUSE_POSTPROC_DATA_STARTS_H
#define REUSE_POSTPROC_DATA_STARTS_H

#include <stdbool.h>

#include "symbols/elf_image.h"

typedef ARRAY(uint64_t) data_starts;

/* Link-time addresses of data that the code loads, ascending, each once; the caller frees the
 * items. Empty for other machines, and for code that is linked to fixed addresses. */
void data_starts_find(const struct elf_image *, data_starts *);

/* The last of them in [low, address]; false: there is none. */
bool data_starts_before(const data_starts *, uint64_t low, uint64_t address, uint64_t *start);

#endif
