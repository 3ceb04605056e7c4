/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the address of a static variable to its declaration. Nothing indexes variables by address,
 * and walking every unit of a large program takes seconds. But a static variable's location is an
 * expression that holds its address literally (DW_OP_addr), or an index into .debug_addr: one pass
 * over those bytes finds the few units worth walking.
 */
#include <stdlib.h>
#include <string.h>

#include "symbols/dwarf_internal.h"

struct wanted {
    const uint64_t *addresses;
    size_t count;
    uint32_t *order; /* indexes of addresses, ascending by address */
    struct declared_variable *out;
    struct dwarf_file *file;
    struct unit *unit; /* the one being walked */
    size_t missing;
};

static const uint64_t *sort_base; /* for compare_order only; the tools have one thread */

static int compare_order(const void *left, const void *right)
{
    uint64_t a = sort_base[*(const uint32_t *)left], b = sort_base[*(const uint32_t *)right];

    return a != b ? (a < b ? -1 : 1) : 0;
}

/* First position in the order whose address is not below; count if none. */
static size_t position_of(const struct wanted *wanted, uint64_t address)
{
    size_t low = 0, high = wanted->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (wanted->addresses[wanted->order[middle]] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_wanted(const struct wanted *wanted, uint64_t address)
{
    size_t position;

    if (address < wanted->addresses[wanted->order[0]] ||
        address > wanted->addresses[wanted->order[wanted->count - 1]])
        return false;
    position = position_of(wanted, address);
    return position < wanted->count && wanted->addresses[wanted->order[position]] == address;
}

/* The address of a variable whose location is one static address. */
static bool static_address(struct entry entry, uint64_t *address)
{
    Dwarf_Attribute attribute = entry_attribute(entry, DW_AT_location);
    Dwarf_Unsigned length = 0;
    Dwarf_Ptr bytes = NULL;
    Dwarf_Error error = NULL;
    const unsigned char *expression;
    bool known = false;

    if (attribute == NULL)
        return false;
    if (!dwarf_succeeded(entry.debug, dwarf_formexprloc(attribute, &length, &bytes, &error),
                         error)) {
        /* Before DWARF 4 expressions are blocks. */
        Dwarf_Block *block = NULL;

        error = NULL;
        if (dwarf_succeeded(entry.debug, dwarf_formblock(attribute, &block, &error), error)) {
            length = block->bl_len;
            bytes = block->bl_data;
            dwarf_dealloc(entry.debug, block, DW_DLA_BLOCK);
        }
    }
    expression = bytes;
    if (expression != NULL && length == 9 && expression[0] == DW_OP_addr) {
        memcpy(address, expression + 1, 8);
        known = true;
    } else if (expression != NULL && length >= 2 &&
               (expression[0] == DW_OP_addrx || expression[0] == DW_OP_GNU_addr_index)) {
        Dwarf_Unsigned index = 0;
        Dwarf_Addr value = 0;

        for (Dwarf_Unsigned i = 1, shift = 0; i < length && shift < 64; i++, shift += 7)
            index |= (Dwarf_Unsigned)(expression[i] & 0x7f) << shift;
        error = NULL;
        known = dwarf_succeeded(
            entry.debug, dwarf_debug_addr_index_to_addr(entry.die, index, &value, &error), error);
        *address = value;
    }
    dwarf_dealloc_attribute(attribute);
    return known;
}

/* Where the entry, or what it completes, is declared. File numbers belong to the unit of each. */
static void find_declaration(struct wanted *wanted, struct entry entry,
                             struct declared_variable *out)
{
    struct entry holder = entry;
    struct unit *unit = wanted->unit;
    uint64_t number = 0, line = 0;
    bool borrowed = false;

    if (!entry_number(holder, DW_AT_decl_line, &line)) {
        holder = entry_follow(wanted->file, entry, DW_AT_specification);
        if (holder.die == NULL)
            holder = entry_follow(wanted->file, entry, DW_AT_abstract_origin);
        borrowed = true;
        if (holder.die != NULL && holder.debug == wanted->file->debug) {
            Dwarf_Off offset = 0;
            Dwarf_Error error = NULL;

            if (dwarf_succeeded(holder.debug, dwarf_dieoffset(holder.die, &offset, &error), error))
                unit = unit_of_offset(wanted->file, offset);
        }
    }
    if (holder.die != NULL && holder.debug == wanted->file->debug && unit != NULL &&
        entry_number(holder, DW_AT_decl_line, &line)) {
        out->line = (uint32_t)line;
        if (entry_number(holder, DW_AT_decl_file, &number))
            out->file = unit_file(wanted->file, unit, number);
    }
    if (borrowed)
        entry_release(holder);
}

static bool visit_for_variables(void *context, struct entry child, Dwarf_Half tag)
{
    struct wanted *wanted = context;
    uint64_t address;

    switch (tag) {
    case DW_TAG_variable:
        if (!static_address(child, &address) || !is_wanted(wanted, address))
            break;
        for (size_t i = position_of(wanted, address);
             i < wanted->count && wanted->addresses[wanted->order[i]] == address; i++) {
            struct declared_variable *out = &wanted->out[wanted->order[i]];

            if (out->name != NULL)
                continue;
            out->name = entry_name(wanted->file, child);
            if (out->name != NULL) {
                wanted->missing--;
                out->type = entry_type(wanted->file, child);
                find_declaration(wanted, child, out);
            }
        }
        break;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_common_block:
        entry_children(child, visit_for_variables, wanted);
        break;
    default:
        break;
    }
    return wanted->missing > 0;
}

static void walk_unit(struct wanted *wanted, struct unit *unit)
{
    struct entry die = entry_at(wanted->file->debug, unit->die);

    wanted->unit = unit;
    if (die.die != NULL)
        entry_children(die, visit_for_variables, wanted);
    entry_release(die);
}

/* Units of .debug_info that contain DW_OP_addr with one of the addresses. */
static void walk_units_with_addresses(struct wanted *wanted, const unsigned char *bytes,
                                      size_t size)
{
    struct unit *walked = NULL;

    for (size_t i = 0; i + 9 <= size && wanted->missing > 0; i++) {
        const unsigned char *found = memchr(bytes + i, DW_OP_addr, size - 8 - i);
        uint64_t address;
        struct unit *unit;

        if (found == NULL)
            break;
        i = (size_t)(found - bytes);
        memcpy(&address, found + 1, sizeof(address));
        if (!is_wanted(wanted, address))
            continue;
        unit = unit_of_offset(wanted->file, i);
        if (unit != NULL && unit != walked)
            walk_unit(wanted, unit);
        walked = unit;
    }
}

/* The unit whose part of .debug_addr holds an offset of that section. */
static struct unit *unit_of_address_table(struct dwarf_file *file, uint64_t offset)
{
    struct unit *best = NULL;
    uint64_t best_base = 0;

    for (size_t i = 0; i < file->units.count; i++) {
        struct entry die = entry_at(file->debug, file->units.items[i].die);
        Dwarf_Attribute attribute = die.die != NULL ? entry_attribute(die, DW_AT_addr_base) : NULL;
        Dwarf_Off base = 0;
        Dwarf_Error error = NULL;

        if (attribute != NULL &&
            dwarf_succeeded(die.debug, dwarf_global_formref(attribute, &base, &error), error) &&
            base <= offset && (best == NULL || base > best_base)) {
            best = &file->units.items[i];
            best_base = base;
        }
        if (attribute != NULL)
            dwarf_dealloc_attribute(attribute);
        entry_release(die);
    }
    return best;
}

static void walk_units_with_indexes(struct wanted *wanted, const unsigned char *bytes, size_t size)
{
    struct unit *walked = NULL;

    for (size_t i = 0; i + 8 <= size && wanted->missing > 0; i += 4) {
        uint64_t address;
        struct unit *unit;

        memcpy(&address, bytes + i, sizeof(address));
        if (!is_wanted(wanted, address))
            continue;
        unit = unit_of_address_table(wanted->file, i);
        if (unit != NULL && unit != walked)
            walk_unit(wanted, unit);
        walked = unit;
    }
}

void dwarf_file_variables(struct dwarf_file *file, const uint64_t *addresses, size_t n,
                          struct declared_variable *out)
{
    struct wanted wanted = {.addresses = addresses, .count = n, .out = out, .file = file};
    const unsigned char *bytes;
    size_t size;

    memset(out, 0, n * sizeof(*out));
    if (n == 0)
        return;
    wanted.missing = n;
    wanted.order = allocate_zeroed(n, sizeof(*wanted.order));
    for (size_t i = 0; i < n; i++)
        wanted.order[i] = (uint32_t)i;
    sort_base = addresses;
    qsort(wanted.order, n, sizeof(*wanted.order), compare_order);
    bytes = elf_image_section_data(file->image, ".debug_info", &size);
    if (bytes != NULL)
        walk_units_with_addresses(&wanted, bytes, size);
    bytes = wanted.missing > 0 ? elf_image_section_data(file->image, ".debug_addr", &size) : NULL;
    if (bytes != NULL)
        walk_units_with_indexes(&wanted, bytes, size);
    free(wanted.order);
}
