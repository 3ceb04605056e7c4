/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The function that an address is in, by its symbol or by its start. Symbols of assembler code
 * often have no size, and in a library whose local symbols were stripped much other code lies
 * before the next one: such a symbol names no more than is plausibly its own.
 */
#ifndef REUSE_POSTPROC_FUNCTION_SYMBOL_H
#define REUSE_POSTPROC_FUNCTION_SYMBOL_H

#include "symbols/frame_range.h"
#include "symbols/nameless_starts.h"

/* What the code of an image says of its functions; all zero at first, as long-lived as the image.
 * Release with function_starts_free(). */
struct function_starts {
    struct frame_ranges ranges;
    bool looked_for;
    nameless_starts starts; /* of code, if anybody had to ask */
};

void function_starts_free(struct function_starts *);

/*
 * The symbol of the function that holds a link-time address, or NULL. symbols: has them; code: has
 * the sections of code, NULL if that file is not there.
 */
const struct elf_symbol *function_symbol_find(struct elf_image *symbols, struct function_starts *,
                                              const struct elf_image *code, uint64_t address);

/* Where the function begins, as far as the code tells; false: it does not. */
bool function_start_find(struct function_starts *, const struct elf_image *code, uint64_t address,
                         uint64_t *start);

#endif
