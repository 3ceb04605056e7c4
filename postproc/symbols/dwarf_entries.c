/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of single debugging entries: values, references, names, code ranges. */
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/dwarf_internal.h"

bool dwarf_succeeded(Dwarf_Debug debug, int result, Dwarf_Error error)
{
    if (result == DW_DLV_ERROR)
        dwarf_dealloc_error(debug, error);
    return result == DW_DLV_OK;
}

void entry_release(struct entry entry)
{
    if (entry.die != NULL)
        dwarf_dealloc_die(entry.die);
}

struct entry entry_at(Dwarf_Debug debug, Dwarf_Off offset)
{
    struct entry entry = {.debug = debug};
    Dwarf_Error error = NULL;

    if (!dwarf_succeeded(debug, dwarf_offdie_b(debug, offset, 1, &entry.die, &error), error))
        entry.die = NULL;
    return entry;
}

Dwarf_Attribute entry_attribute(struct entry entry, Dwarf_Half attribute)
{
    Dwarf_Attribute found = NULL;
    Dwarf_Error error = NULL;

    if (!dwarf_succeeded(entry.debug, dwarf_attr(entry.die, attribute, &found, &error), error))
        return NULL;
    return found;
}

struct entry entry_follow(const struct dwarf_file *file, struct entry entry, Dwarf_Half attribute)
{
    Dwarf_Attribute reference = entry_attribute(entry, attribute);
    struct entry none = {0}, found;
    Dwarf_Debug debug = entry.debug;
    Dwarf_Error error = NULL;
    Dwarf_Off offset = 0;
    Dwarf_Half form = 0;

    if (reference == NULL)
        return none;
    if (!dwarf_succeeded(debug, dwarf_whatform(reference, &form, &error), error) ||
        form == DW_FORM_ref_sig8 ||
        !dwarf_succeeded(debug, dwarf_global_formref(reference, &offset, &error), error)) {
        dwarf_dealloc_attribute(reference);
        return none;
    }
    dwarf_dealloc_attribute(reference);
    if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8)
        debug = file->alternate;
    if (debug == NULL)
        return none;
    found = entry_at(debug, offset);
    return found;
}

bool entry_number(struct entry entry, Dwarf_Half attribute, uint64_t *value)
{
    Dwarf_Attribute found = entry_attribute(entry, attribute);
    Dwarf_Error error = NULL;
    Dwarf_Unsigned number;
    Dwarf_Signed negative;
    bool known;

    if (found == NULL)
        return false;
    known = dwarf_succeeded(entry.debug, dwarf_formudata(found, &number, &error), error);
    if (known)
        *value = number;
    else {
        error = NULL;
        known = dwarf_succeeded(entry.debug, dwarf_formsdata(found, &negative, &error), error);
        if (known)
            *value = (uint64_t)negative;
    }
    dwarf_dealloc_attribute(found);
    return known;
}

bool entry_text(struct entry entry, Dwarf_Half attribute, const char **text)
{
    Dwarf_Attribute found = entry_attribute(entry, attribute);
    Dwarf_Error error = NULL;
    char *string = NULL;
    bool known;

    if (found == NULL)
        return false;
    known = dwarf_succeeded(entry.debug, dwarf_formstring(found, &string, &error), error);
    if (known)
        *text = string;
    dwarf_dealloc_attribute(found);
    return known;
}

bool entry_flag(struct entry entry, Dwarf_Half attribute)
{
    Dwarf_Attribute found = entry_attribute(entry, attribute);
    Dwarf_Error error = NULL;
    Dwarf_Bool set = 0;

    if (found == NULL)
        return false;
    if (!dwarf_succeeded(entry.debug, dwarf_formflag(found, &set, &error), error))
        set = 0;
    dwarf_dealloc_attribute(found);
    return set != 0;
}

static void push_range(address_ranges *out, uint64_t low, uint64_t high, uint32_t index)
{
    struct address_range range = {low, high, index};

    /* Linkers leave 0, 1 or the highest addresses where a section was discarded. */
    if (low > 1 && low < high && high < UINT64_MAX - 2)
        ARRAY_PUSH(out, range);
}

/* .debug_ranges, DWARF 3 and 4 (DWARF 4, 2.17.3). */
static void ranges_of_old_list(struct entry entry, Dwarf_Off offset, uint64_t base, uint32_t index,
                               address_ranges *out)
{
    Dwarf_Ranges *list = NULL;
    Dwarf_Signed count = 0;
    Dwarf_Unsigned bytes = 0;
    Dwarf_Off real = 0;
    Dwarf_Error error = NULL;

    if (!dwarf_succeeded(entry.debug,
                         dwarf_get_ranges_b(entry.debug, offset, entry.die, &real, &list, &count,
                                            &bytes, &error),
                         error))
        return;
    for (Dwarf_Signed i = 0; i < count; i++) {
        if (list[i].dwr_type == DW_RANGES_END)
            break;
        if (list[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
            base = list[i].dwr_addr2;
        else
            push_range(out, base + list[i].dwr_addr1, base + list[i].dwr_addr2, index);
    }
    dwarf_ranges_dealloc(entry.debug, list, count);
}

/* .debug_rnglists (DWARF 5, 2.17.3). */
static void ranges_of_new_list(struct entry entry, Dwarf_Attribute attribute, Dwarf_Half form,
                               uint64_t value, uint32_t index, address_ranges *out)
{
    Dwarf_Rnglists_Head head = NULL;
    Dwarf_Unsigned count = 0, offset = 0;
    Dwarf_Error error = NULL;

    if (!dwarf_succeeded(
            entry.debug,
            dwarf_rnglists_get_rle_head(attribute, form, value, &head, &count, &offset, &error),
            error))
        return;
    for (Dwarf_Unsigned i = 0; i < count; i++) {
        unsigned length, kind;
        Dwarf_Unsigned raw1, raw2, low, high;
        Dwarf_Bool unavailable = 0;

        error = NULL;
        if (!dwarf_succeeded(entry.debug,
                             dwarf_get_rnglists_entry_fields_a(head, i, &length, &kind, &raw1,
                                                               &raw2, &unavailable, &low, &high,
                                                               &error),
                             error))
            break;
        if (kind == DW_RLE_end_of_list)
            break;
        if (unavailable || kind == DW_RLE_base_address || kind == DW_RLE_base_addressx)
            continue;
        push_range(out, low, high, index);
    }
    dwarf_dealloc_rnglists_head(head);
}

static bool low_and_high(struct entry entry, uint64_t *low, uint64_t *high)
{
    Dwarf_Addr first = 0, last = 0;
    Dwarf_Half form = 0;
    enum Dwarf_Form_Class class = DW_FORM_CLASS_UNKNOWN;
    Dwarf_Error error = NULL;

    if (!dwarf_succeeded(entry.debug, dwarf_lowpc(entry.die, &first, &error), error))
        return false;
    error = NULL;
    if (!dwarf_succeeded(entry.debug, dwarf_highpc_b(entry.die, &last, &form, &class, &error),
                         error))
        return false;
    *low = first;
    *high = class == DW_FORM_CLASS_CONSTANT ? first + last : last;
    return true;
}

void entry_ranges(struct entry entry, Dwarf_Half version, uint64_t unit_low, uint32_t index,
                  address_ranges *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Half form = 0;
    Dwarf_Error error = NULL;
    Dwarf_Unsigned value = 0;
    Dwarf_Off offset = 0;
    uint64_t low, high;
    bool known;

    if (low_and_high(entry, &low, &high)) {
        push_range(out, low, high, index);
        return;
    }
    attribute = entry_attribute(entry, DW_AT_ranges);
    if (attribute == NULL)
        return;
    if (dwarf_succeeded(entry.debug, dwarf_whatform(attribute, &form, &error), error)) {
        error = NULL;
        if (form == DW_FORM_rnglistx || form == DW_FORM_data4 || form == DW_FORM_data8) {
            known = dwarf_succeeded(entry.debug, dwarf_formudata(attribute, &value, &error), error);
        } else {
            known = dwarf_succeeded(entry.debug, dwarf_global_formref(attribute, &offset, &error),
                                    error);
            value = offset;
        }
        if (known && version >= 5)
            ranges_of_new_list(entry, attribute, form, value, index, out);
        else if (known)
            ranges_of_old_list(entry, value, unit_low, index, out);
    }
    dwarf_dealloc_attribute(attribute);
}

uint64_t unit_low_address(struct entry unit_die)
{
    Dwarf_Addr low = 0;
    Dwarf_Error error = NULL;

    if (!dwarf_succeeded(unit_die.debug, dwarf_lowpc(unit_die.die, &low, &error), error))
        return 0;
    return low;
}

/* References lead from a concrete entry to its declaration in a few steps; more is damage. */
enum { REFERENCES_MAX = 8 };

/* Walks from the entry along its references until `take` returns a name. */
static const char *name_along_references(const struct dwarf_file *file, struct entry entry,
                                         const char *(*take)(const struct dwarf_file *,
                                                             struct entry))
{
    const char *name = take(file, entry);
    struct entry current = entry;

    for (int steps = 0; name == NULL && steps < REFERENCES_MAX; steps++) {
        struct entry next = entry_follow(file, current, DW_AT_abstract_origin);

        if (next.die == NULL)
            next = entry_follow(file, current, DW_AT_specification);
        if (current.die != entry.die)
            entry_release(current);
        current = next;
        if (current.die == NULL)
            return NULL;
        name = take(file, current);
    }
    if (current.die != entry.die)
        entry_release(current);
    return name;
}

static const char *take_linkage_name(const struct dwarf_file *file, struct entry entry)
{
    const char *mangled, *name = NULL;
    char *readable;

    if (!entry_text(entry, DW_AT_linkage_name, &mangled) &&
        !entry_text(entry, DW_AT_MIPS_linkage_name, &mangled))
        return NULL;
    readable = demangle(mangled);
    if (readable != NULL)
        name = intern_table_string(file->strings, readable);
    free(readable);
    return name;
}

static const char *take_plain_name(const struct dwarf_file *file, struct entry entry)
{
    const char *name;

    return entry_text(entry, DW_AT_name, &name) ? intern_table_string(file->strings, name) : NULL;
}

const char *entry_plain_name(const struct dwarf_file *file, struct entry entry)
{
    return name_along_references(file, entry, take_plain_name);
}

const char *entry_name(const struct dwarf_file *file, struct entry entry)
{
    const char *name = name_along_references(file, entry, take_linkage_name);

    char *readable;

    if (name != NULL)
        return name;
    name = entry_plain_name(file, entry);
    readable = name != NULL ? demangle(name) : NULL;
    if (readable != NULL)
        name = intern_table_string(file->strings, readable);
    free(readable);
    return name;
}

void entry_children(struct entry entry, entry_visitor visit, void *context)
{
    struct entry child = {.debug = entry.debug};
    Dwarf_Error error = NULL;
    bool more;

    more = dwarf_succeeded(entry.debug, dwarf_child(entry.die, &child.die, &error), error);
    while (more) {
        struct entry next = {.debug = entry.debug};
        Dwarf_Half tag = 0;

        error = NULL;
        more = dwarf_succeeded(entry.debug, dwarf_tag(child.die, &tag, &error), error) &&
               visit(context, child, tag);
        error = NULL;
        if (more)
            more = dwarf_succeeded(entry.debug,
                                   dwarf_siblingof_b(entry.debug, child.die, 1, &next.die, &error),
                                   error);
        entry_release(child);
        child = next;
    }
}

static int compare_ranges(const void *left, const void *right)
{
    const struct address_range *a = left, *b = right;

    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->high != b->high ? (a->high > b->high ? -1 : 1) : 0;
}

void sort_ranges(address_ranges *ranges)
{
    if (ranges->count > 0)
        qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare_ranges);
}

/* Ranges of one table seldom overlap; where they do (merged identical functions), not deeply. */
enum { OVERLAP_MAX = 64 };

const struct address_range *find_range(const address_ranges *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ranges->items[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t steps = 0; low > 0 && steps < OVERLAP_MAX; steps++, low--)
        if (address < ranges->items[low - 1].high)
            return &ranges->items[low - 1];
    return NULL;
}
