/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engine needs to know of an ELF file: how it is loaded, who it is, where its variables
 * are. */
#ifndef REUSE_EXACT_ELF_IMAGE_H
#define REUSE_EXACT_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_segment {
    uint64_t address; /* link-time */
    uint64_t offset;
    uint64_t memory_size;
    bool executable;
};

struct elf_symbol {
    uint64_t address, size; /* link-time */
};

struct elf_image {
    struct elf_segment segments[16]; /* PT_LOAD */
    size_t segment_count;
    bool has_interpreter; /* a dynamic loader starts it */
    uint8_t build_id[24];
    uint32_t build_id_size; /* 0..20 */
};

/* False when the file cannot be read or is no loadable ELF file. */
bool elf_image_read(const char *path, struct elf_image *);

/*
 * Variables (named data symbols with a size), sorted by address, without overlaps; *symbols is the
 * caller's to free. From the symbol table, or the dynamic one if that was stripped.
 */
size_t elf_image_variables(const char *path, struct elf_symbol **symbols);

/* Visits every function (named code symbol), in no order; an address may come with several names.
 */
void elf_image_functions(const char *path,
                         void (*visit)(void *context, const char *name, uint64_t address),
                         void *context);

#endif
