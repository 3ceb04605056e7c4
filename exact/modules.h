/* SPDX-License-Identifier: BSD-3-Clause */
/* The ELF files that the guest has loaded, found from its memory map and its system calls. */
#ifndef REUSE_EXACT_MODULES_H
#define REUSE_EXACT_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf_image.h"

struct module {
    uint32_t module_id;
    struct elf_image image;
    uint64_t load_bias;
    uint64_t start, end;  /* guest addresses */
    uint64_t loaded_ns;   /* CLOCK_MONOTONIC */
    uint64_t unloaded_ns; /* 0: still there */
    struct module *following;
    char path[];
};

/* Before the guest starts: the library whose own accesses are not the program's; NULL none. */
void modules_set_guest_library(const char *path);

/* Whether a code address is in that library. */
bool modules_in_guest_library(uint64_t address);

/* When the plugin is loaded, before QEMU loads the guest: what is mapped now is QEMU's own. */
void modules_note_own_mappings(void);

/* Before the guest's first instruction: the program and its loader are what has been mapped since.
 */
void modules_find_program(uint64_t guest_base);

/* The guest mapped part of a file for execution; descriptor is its own. */
void modules_mapped(uint64_t address, int descriptor, uint64_t offset);

/* The guest unmapped, or mapped over, [address, address + size). */
void modules_unmapped(uint64_t address, uint64_t size);

/* All modules, latest first, unloaded ones too. Links and entries but for unloaded_ns stay. */
struct module *modules_all(void);

void modules_after_fork(void);

#endif
