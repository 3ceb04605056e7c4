/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of a compile unit and what was inlined into them. The first look at a unit collects its
 * functions without entering them; a function is entered when an address in it is asked for.
 */
#include <stdlib.h>

#include "symbols/dwarf_internal.h"

struct walk {
    struct dwarf_file *file;
    struct unit *unit;
    uint64_t unit_low;
    bool into_functions; /* also look for functions nested in functions (lambdas, local classes) */
};

static bool is_container(Dwarf_Half tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        return true;
    default:
        return false;
    }
}

static bool is_block(Dwarf_Half tag)
{
    return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
           tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

static void add_function(struct walk *walk, struct entry entry)
{
    struct code_function function = {0};
    size_t before = walk->unit->function_ranges.count;
    Dwarf_Error error = NULL;

    entry_ranges(entry, walk->unit->version, walk->unit_low, (uint32_t)walk->unit->functions.count,
                 &walk->unit->function_ranges);
    if (walk->unit->function_ranges.count == before)
        return;
    if (!dwarf_succeeded(entry.debug, dwarf_dieoffset(entry.die, &function.self.die, &error),
                         error)) {
        walk->unit->function_ranges.count = before;
        return;
    }
    ARRAY_PUSH(&walk->unit->functions, function);
}

static bool visit_for_functions(void *context, struct entry child, Dwarf_Half tag)
{
    struct walk *walk = context;

    if (tag == DW_TAG_subprogram) {
        add_function(walk, child);
        if (walk->into_functions)
            entry_children(child, visit_for_functions, walk);
    } else if (is_container(tag) || (walk->into_functions && is_block(tag))) {
        entry_children(child, visit_for_functions, walk);
    }
    return true;
}

static void forget_functions(struct unit *unit)
{
    for (size_t i = 0; i < unit->functions.count; i++) {
        free(unit->functions.items[i].inlines.items);
        free(unit->functions.items[i].inline_ranges.items);
    }
    unit->functions.count = 0;
    unit->function_ranges.count = 0;
}

static void load_functions(struct dwarf_file *file, struct unit *unit, bool into_functions)
{
    struct entry die = entry_at(file->debug, unit->die);
    struct walk walk = {.file = file, .unit = unit, .into_functions = into_functions};

    forget_functions(unit);
    if (die.die != NULL) {
        walk.unit_low = unit_low_address(die);
        entry_children(die, visit_for_functions, &walk);
        entry_release(die);
    }
    sort_ranges(&unit->function_ranges);
}

struct expansion {
    struct walk walk;
    struct code_function *function;
    uint32_t parent;
};

static bool visit_for_inlines(void *context, struct entry child, Dwarf_Half tag)
{
    struct expansion *expansion = context, inner = *expansion;

    if (tag == DW_TAG_inlined_subroutine) {
        struct code_entry entry = {.parent = expansion->parent};
        uint32_t number = (uint32_t)expansion->function->inlines.count + 1;
        uint64_t value;
        Dwarf_Error error = NULL;

        if (!dwarf_succeeded(child.debug, dwarf_dieoffset(child.die, &entry.die, &error), error))
            return true;
        if (entry_number(child, DW_AT_call_file, &value))
            entry.call_file = (uint32_t)value;
        if (entry_number(child, DW_AT_call_line, &value))
            entry.call_line = (uint32_t)value;
        if (entry_number(child, DW_AT_call_column, &value))
            entry.call_column = (uint32_t)value;
        entry_ranges(child, expansion->walk.unit->version, expansion->walk.unit_low, number,
                     &expansion->function->inline_ranges);
        ARRAY_PUSH(&expansion->function->inlines, entry);
        inner.parent = number;
        entry_children(child, visit_for_inlines, &inner);
    } else if (is_block(tag)) {
        entry_children(child, visit_for_inlines, &inner);
    }
    return true;
}

static void expand(struct dwarf_file *file, struct unit *unit, struct code_function *function)
{
    struct entry unit_die = entry_at(file->debug, unit->die);
    struct entry die = entry_at(file->debug, function->self.die);
    struct expansion expansion = {.walk = {.file = file, .unit = unit}, .function = function};

    function->expanded = true;
    if (unit_die.die != NULL && die.die != NULL) {
        expansion.walk.unit_low = unit_low_address(unit_die);
        entry_children(die, visit_for_inlines, &expansion);
    }
    entry_release(die);
    entry_release(unit_die);
}

struct code_function *unit_function(struct dwarf_file *file, struct unit *unit, uint64_t address)
{
    const struct address_range *range;
    struct code_function *function;

    if (!unit->functions_loaded) {
        load_functions(file, unit, false);
        unit->functions_loaded = true;
    }
    range = find_range(&unit->function_ranges, address);
    if (range == NULL && !unit->nested_loaded) {
        unit->nested_loaded = true;
        load_functions(file, unit, true);
        range = find_range(&unit->function_ranges, address);
    }
    if (range == NULL)
        return NULL;
    function = &unit->functions.items[range->index];
    if (!function->expanded)
        expand(file, unit, function);
    return function;
}

/* Methods that the compiler declares, such as those of lambdas, are artificial too but matter. */
static bool is_artificial(const struct dwarf_file *file, struct entry die)
{
    struct entry origin = entry_follow(file, die, DW_AT_abstract_origin);
    Dwarf_Attribute object =
        origin.die != NULL ? entry_attribute(origin, DW_AT_object_pointer) : NULL;
    bool artificial = origin.die != NULL && object == NULL && entry_flag(origin, DW_AT_artificial);

    if (object != NULL)
        dwarf_dealloc_attribute(object);
    entry_release(origin);
    return artificial;
}

static const char *name_of(struct dwarf_file *file, struct code_entry *entry)
{
    if (!entry->named) {
        struct entry die = entry_at(file->debug, entry->die);

        entry->named = true;
        if (die.die != NULL) {
            entry->name = entry_name(file, die);
            entry->artificial = is_artificial(file, die);
        }
        entry_release(die);
    }
    return entry->name;
}

/* The deepest inlined function at the address; 0: none. Inner ones come after outer ones. */
static uint32_t innermost(const struct code_function *function, uint64_t address)
{
    uint32_t found = 0;

    for (size_t i = 0; i < function->inline_ranges.count; i++) {
        const struct address_range *range = &function->inline_ranges.items[i];

        if (address >= range->low && address < range->high)
            found = range->index;
    }
    return found;
}

void dwarf_file_line_code(struct dwarf_file *file, uint64_t address, line_codes *out)
{
    struct unit *unit = unit_of_address(file, address);
    const struct line_span *span = unit != NULL ? unit_line(file, unit, address) : NULL;

    if (span == NULL || span->line == 0)
        return;
    for (size_t i = 0; i < unit->lines.count; i++) {
        const struct line_span *other = &unit->lines.items[i];
        struct line_code code = {other->low, other->high, other->column};

        if (other->file == span->file && other->line == span->line)
            ARRAY_PUSH(out, code);
    }
}

/* Spans to look at before and after one without a line. */
enum { NEIGHBOURS = 32 };

/* Compilers give no line (0) to code that they moved or merged: what stands next to it in the same
 * function, inlined or not, is the nearest that there is. */
static const struct line_span *with_line(struct dwarf_file *file, struct unit *unit,
                                         const struct code_function *function,
                                         const struct line_span *span, uint64_t address)
{
    const struct line_span *first = unit->lines.items, *end = first + unit->lines.count;
    uint32_t number = function != NULL ? innermost(function, address) : 0;

    if (span == NULL || span->line != 0 || function == NULL)
        return span;
    for (int direction = -1; direction <= 1; direction += 2)
        for (ptrdiff_t i = 1; i <= NEIGHBOURS; i++) {
            const struct line_span *other = span + direction * i;

            if ((direction < 0 ? span - first < i : end - span <= i) ||
                unit_function(file, unit, other->low) != function)
                break;
            if (other->line != 0 && innermost(function, other->low) == number)
                return other;
        }
    return span;
}

void dwarf_file_frames(struct dwarf_file *file, uint64_t address, source_frames *out)
{
    struct unit *unit = unit_of_address(file, address);
    const struct line_span *span;
    struct code_function *function;
    struct source_frame frame = {0};

    if (unit == NULL)
        return;
    span = unit_line(file, unit, address);
    function = unit_function(file, unit, address);
    span = with_line(file, unit, function, span, address);
    frame.directory = unit->directory;
    if (span != NULL) {
        frame.file = unit_file(file, unit, span->file);
        frame.line = span->line;
        frame.column = span->column;
    }
    if (function != NULL) {
        for (uint32_t number = innermost(function, address); number != 0;) {
            struct code_entry *entry = &function->inlines.items[number - 1];

            frame.function = name_of(file, entry);
            frame.scope = entry->die;
            if (!entry->artificial)
                ARRAY_PUSH(out, frame);
            frame.file = unit_file(file, unit, entry->call_file);
            frame.line = entry->call_line;
            frame.column = entry->call_column;
            number = entry->parent;
        }
        frame.function = name_of(file, &function->self);
        frame.scope = function->self.die;
    } else if (span == NULL) {
        return;
    } else {
        frame.function = NULL;
        frame.scope = 0;
    }
    ARRAY_PUSH(out, frame);
}
