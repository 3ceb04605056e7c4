/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/function_symbol.h"

#include <stdlib.h>

void function_starts_free(struct function_starts *starts)
{
    free(starts->starts.items);
}

/* The last place at the address or before it, from `low` on, where code is known to begin. */
static bool known_start(struct function_starts *starts, const struct elf_image *code, uint64_t low,
                        uint64_t address, uint64_t *start)
{
    if (!starts->looked_for)
        code_starts_find(code, &starts->starts);
    starts->looked_for = true;
    return nameless_starts_before(&starts->starts, low, address, start);
}

/* Whether a symbol without a size, the last one before the address, is its function's. No
 * description of a frame covers the address. */
static bool reaches(const struct elf_image *symbols, struct function_starts *starts,
                    const struct elf_image *code, const struct elf_symbol *symbol, uint64_t address)
{
    uint64_t start;

    /* It has a description, which says where it ends. */
    if (frame_range_start(&starts->ranges, code, symbol->address, &start))
        return false;
    /* Where all symbols are there, the next one begins what comes next. */
    return symbols->has_symbol_table ||
           !known_start(starts, code, symbol->address + 1, address, &start);
}

const struct elf_symbol *function_symbol_find(struct elf_image *symbols,
                                              struct function_starts *starts,
                                              const struct elf_image *code, uint64_t address)
{
    const struct elf_symbol *symbol = elf_image_function(symbols, address);
    uint64_t start;

    if (symbol == NULL || symbol->size > 0 || code == NULL)
        return symbol;
    if (!frame_range_start(&starts->ranges, code, address, &start))
        return reaches(symbols, starts, code, symbol, address) ? symbol : NULL;
    /* A label within a function is not the function. */
    if (symbol->address != start)
        symbol = elf_image_function(symbols, start);
    return symbol != NULL && symbol->address == start ? symbol : NULL;
}

bool function_start_find(struct function_starts *starts, const struct elf_image *code,
                         uint64_t address, uint64_t *start)
{
    uint64_t section, described;

    if (frame_range_start(&starts->ranges, code, address, start))
        return true;
    if (elf_image_section(code, address, &section) == NULL ||
        !known_start(starts, code, section, address, start))
        return false;
    /* No part of a function that ended before one that is described. */
    return !frame_range_before(&starts->ranges, code, address, &described) || described < *start;
}
