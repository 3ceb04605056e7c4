/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that an object in memory defines, found in its own tables (System V ABI, "Dynamic
 * Linking"; DT_GNU_HASH as the GNU tools write it). For objects that dlsym() does not know (the
 * kernel's), or knows only after a dlopen() that would cost a short process more than all else.
 * Signal-safe. The object must stay loaded.
 */
#ifndef REUSE_RUNTIME_OWN_LOADED_SYMBOLS_H
#define REUSE_RUNTIME_OWN_LOADED_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct loaded_symbols {
    uint64_t bias; /* of addresses in the object's tables */
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hash, *gnu_hash; /* one of them may be NULL */
    const uint16_t *versions;        /* NULL: it has none */
};

/* From the object's PT_DYNAMIC. False: it has no table of symbols. */
bool loaded_symbols_read(struct loaded_symbols *, const ElfW(Dyn) *, uint64_t bias);

/* Of the name's default version. NULL: there is none, or what it is depends on the processor
 * (STT_GNU_IFUNC), which only the loader decides. */
void *loaded_symbols_find(const struct loaded_symbols *, const char *name);

/* The address lies in the code of that function. False as well where the function is not found. */
bool loaded_symbols_covers(const struct loaded_symbols *, const char *name, uint64_t address);

#endif
