/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See loaded_symbols.h. */
#include "own/loaded_symbols.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "signal_safe.h"

enum { VERSION_HIDDEN = 0x8000 };

bool loaded_symbols_read(struct loaded_symbols *tables, const ElfW(Dyn) * entry, uint64_t bias)
{
    *tables = (struct loaded_symbols){.bias = bias};
    for (; entry->d_tag != DT_NULL; entry++) {
        /* The loader has put addresses there; in the kernel's object nobody has. */
        uint64_t value = entry->d_un.d_ptr;
        const void *at = (const void *)(uintptr_t)(value < bias ? bias + value : value);

        if (entry->d_tag == DT_SYMTAB)
            tables->symbols = at;
        else if (entry->d_tag == DT_STRTAB)
            tables->names = at;
        else if (entry->d_tag == DT_HASH)
            tables->hash = at;
        else if (entry->d_tag == DT_GNU_HASH)
            tables->gnu_hash = at;
        else if (entry->d_tag == DT_VERSYM)
            tables->versions = at;
    }
    return tables->symbols && tables->names && (tables->hash || tables->gnu_hash);
}

static bool is_wanted(const struct loaded_symbols *tables, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &tables->symbols[index];
    unsigned type = symbol->st_info & 0xf;

    return symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE) &&
           !(tables->versions && tables->versions[index] & VERSION_HIDDEN) &&
           strcmp(tables->names + symbol->st_name, name) == 0;
}

/* Index of the symbol, 0: none. */
static uint32_t find_hashed(const struct loaded_symbols *tables, const char *name)
{
    const uint32_t *table = tables->gnu_hash, *buckets, *chain;
    uint32_t hash = 5381, index;

    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    /* Behind the filter of what is not there, whose words are as wide as addresses. */
    buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof *table);
    chain = buckets + table[0];
    index = table[0] ? buckets[hash % table[0]] : 0;
    if (index < table[1])
        return 0;
    for (;; index++) {
        uint32_t found = chain[index - table[1]];

        if ((found | 1) == (hash | 1) && is_wanted(tables, index, name))
            return index;
        if (found & 1)
            return 0;
    }
}

static uint32_t find_listed(const struct loaded_symbols *tables, const char *name)
{
    for (uint32_t index = 1; index < tables->hash[1]; index++)
        if (is_wanted(tables, index, name))
            return index;
    return 0;
}

static uint32_t find(const struct loaded_symbols *tables, const char *name)
{
    return tables->gnu_hash ? find_hashed(tables, name) : find_listed(tables, name);
}

bool loaded_symbols_covers(const struct loaded_symbols *tables, const char *name, uint64_t address)
{
    uint32_t index = find(tables, name);
    const ElfW(Sym) *symbol = &tables->symbols[index];

    return index && address - tables->bias - symbol->st_value < symbol->st_size;
}

void *loaded_symbols_find(const struct loaded_symbols *tables, const char *name)
{
    uint32_t index = find(tables, name);

    return index ? (void *)(uintptr_t)(tables->bias + tables->symbols[index].st_value) : NULL;
}
