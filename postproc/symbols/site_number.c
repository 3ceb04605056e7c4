/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/site_number.h"

#include <stdlib.h>

#include "symbols/source_text.h"

static bool same_frames(const source_frames *left, const source_frames *right)
{
    if (left->count != right->count)
        return false;
    for (size_t i = 0; i < left->count; i++) {
        const struct source_frame *a = &left->items[i], *b = &right->items[i];

        /* The line is one, and its columns tell the statements apart. */
        if (a->scope != b->scope || a->file != b->file || a->line != b->line ||
            (i > 0 && a->column != b->column))
            return false;
    }
    return true;
}

/* Copies of a function that was inlined in several places have the same calls: leaves one's. */
static void keep_instance(struct symbol_module *module, const source_frames *own, call_sites *calls)
{
    source_frames frames = {0};
    size_t kept = 0;

    for (size_t i = 0; i < calls->count; i++) {
        frames.count = 0;
        symbol_module_frames(module, calls->items[i].address, &frames);
        if (same_frames(own, &frames))
            calls->items[kept++] = calls->items[i];
    }
    calls->count = kept;
    free(frames.items);
}

static void number_by_address(const call_sites *calls, uint64_t address, uint32_t column,
                              struct site_number *out)
{
    for (size_t i = 0; i < calls->count; i++) {
        const struct call_site *call = &calls->items[i];
        bool before = call->address + call->length <= address;

        out->line_sites++;
        out->of_line += call->column < column || (call->column == column && before);
        out->statement_sites += call->column == column;
        out->of_statement += call->column == column && before;
    }
}

static void number_by_column(const call_sites *calls, uint32_t column, struct site_number *out)
{
    for (size_t i = 0; i < calls->count; i++) {
        size_t first = 0;

        while (calls->items[first].column != calls->items[i].column)
            first++;
        out->line_sites += first == i;
        out->of_line += first == i && calls->items[i].column < column;
    }
}

/*
 * Columns tell the calls of a line apart, whatever became of them in code: loops are unrolled. But
 * all arrays of an allocate statement in Fortran have one, and calls within a call may; then the
 * calls in code are told by their order if they are as many as those of the text.
 */
struct site_number site_number_find(struct symbol_module *module, uint64_t address,
                                    const struct source_frame *source, size_t written)
{
    struct site_number by_column = {0}, by_address = {0};
    source_frames own = {0};
    call_sites calls = {0};

    symbol_module_frames(module, address, &own);
    if (own.items[0].file == source->file && own.items[0].line == source->line &&
        own.items[0].scope == source->scope)
        symbol_module_line_calls(module, address, &calls);
    number_by_column(&calls, source->column, &by_column);
    keep_instance(module, &own, &calls);
    number_by_address(&calls, address, source->column, &by_address);
    free(calls.items);
    free(own.items);
    return source->column == 0 || source_language_of(source->file) == SOURCE_FORTRAN ||
                   by_address.line_sites == written
               ? by_address
               : by_column;
}
