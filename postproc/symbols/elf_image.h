/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One ELF file as the symboliser sees it: identity, links to separate debug files, symbols.
 * All addresses are link-time addresses.
 */
#ifndef REUSE_POSTPROC_ELF_IMAGE_H
#define REUSE_POSTPROC_ELF_IMAGE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/memory.h"

enum { BUILD_ID_MAX = 20 };

struct elf_symbol {
    uint64_t address;
    uint64_t size;    /* bytes; 0 when the file does not say */
    const char *name; /* as linked; points into the file's string table */
    bool global;
};

typedef ARRAY(struct elf_symbol) elf_symbols;

struct elf_image {
    char *path;
    int descriptor;
    Elf *elf;
    uint16_t machine; /* EM_X86_64 ... */
    uint8_t build_id[BUILD_ID_MAX];
    size_t build_id_size;  /* 0: none */
    bool has_dwarf;        /* .debug_info */
    bool has_symbol_table; /* .symtab; .dynsym alone is what strip leaves */
    bool symbols_loaded;
    elf_symbols functions; /* sorted by address */
    elf_symbols objects;   /* sorted by address */
};

/* NULL, with the reason in message, when it cannot be read or is no ELF file. */
struct elf_image *elf_image_open(const char *path, char *message, size_t message_size);
void elf_image_close(struct elf_image *);

/* The symbol that covers an address, or NULL. Of several names the most readable is taken. */
const struct elf_symbol *elf_image_function(struct elf_image *, uint64_t address);
const struct elf_symbol *elf_image_object(struct elf_image *, uint64_t address);

/* Name and start of the allocated section that holds an address; NULL if none does. */
const char *elf_image_section(const struct elf_image *, uint64_t address, uint64_t *start);

/* Contents of a section by name, decompressed; NULL if the file has none. */
const unsigned char *elf_image_section_data(const struct elf_image *, const char *name,
                                            size_t *size);

/* Link-time address of a section by name; false if the file has none. */
bool elf_image_section_address(const struct elf_image *, const char *name, uint64_t *address);

/* "symbol@plt" of the stub at an address; NULL if there is none. The caller frees it. */
char *elf_image_plt_name(const struct elf_image *, uint64_t address);

#endif
