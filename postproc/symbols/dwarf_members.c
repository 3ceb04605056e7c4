/* SPDX-License-Identifier: BSD-3-Clause */
/* What a structure consists of, and which structures a byte of an object lies in. */
#include <stdlib.h>
#include <string.h>

#include "symbols/dwarf_internal.h"
#include "symbols/library_source.h"

enum { ALIGNMENT_MAX = 16 };

static bool is_structure(Dwarf_Half tag)
{
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static uint64_t alignment_of(const struct dwarf_file *, struct entry, int depth);

struct alignment_search {
    const struct dwarf_file *file;
    uint64_t largest;
    int depth;
};

static uint64_t alignment_of_member(const struct dwarf_file *file, struct entry child, int depth)
{
    struct entry type = type_open(file, entry_type(file, child));
    uint64_t alignment = alignment_of(file, type, depth), asked = 0;

    entry_release(type);
    return entry_number(child, DW_AT_alignment, &asked) && asked > alignment ? asked : alignment;
}

static bool visit_for_alignment(void *context, struct entry child, Dwarf_Half tag)
{
    struct alignment_search *search = context;
    uint64_t alignment;

    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || member_is_static(child))
        return true;
    alignment = alignment_of_member(search->file, child, search->depth + 1);
    search->largest = alignment > search->largest ? alignment : search->largest;
    return true;
}

/* A power of two. Debug information tells it where the source does; else it follows from the type,
 * as the ABIs of x86-64 and arm64 have it. */
static uint64_t alignment_of(const struct dwarf_file *file, struct entry entry, int depth)
{
    struct alignment_search search = {.file = file, .largest = 1, .depth = depth};
    Dwarf_Half tag = entry_tag(entry);
    uint64_t asked = 0, size;

    if (entry.die == NULL || depth > DEPTH_MAX)
        return 1;
    if (tag == DW_TAG_array_type) {
        struct entry element = type_open(file, entry_type(file, entry));

        search.largest = alignment_of(file, element, depth + 1);
        entry_release(element);
    } else if (is_structure(tag)) {
        entry_children(entry, visit_for_alignment, &search);
    } else {
        size = type_bytes(file, entry, 0);
        while (search.largest < ALIGNMENT_MAX && size % (2 * search.largest) == 0 && size > 0)
            search.largest *= 2;
    }
    if (entry_number(entry, DW_AT_alignment, &asked) && asked > search.largest &&
        (asked & (asked - 1)) == 0)
        return asked;
    return search.largest;
}

struct listing {
    struct dwarf_file *file;
    struct type_members *out;
    uint64_t bits_end; /* of the bit fields that came last, in bits from the start */
};

/* Bit fields follow each other within their bytes: they can only move together. */
static void add_bits(struct listing *listing, struct type_member member, uint64_t first,
                     uint64_t bits)
{
    struct type_members *out = listing->out;
    struct type_member *last =
        out->items.count > 0 ? &out->items.items[out->items.count - 1] : NULL;
    uint64_t end;

    member.kind = MEMBER_BITS;
    member.offset = first / 8;
    if (last != NULL && last->kind == MEMBER_BITS && first / 8 <= listing->bits_end / 8) {
        char *names = format_string("%s, %s", last->name, member.name);

        last->name = intern_table_string(listing->file->strings, names);
        free(names);
        end = (first + bits + 7) / 8;
        last->size = end > last->offset + last->size ? end - last->offset : last->size;
        last->alignment = member.alignment > last->alignment ? member.alignment : last->alignment;
    } else {
        member.size = (first + bits + 7) / 8 - member.offset;
        ARRAY_PUSH(&out->items, member);
    }
    listing->bits_end = first + bits;
}

static bool is_table_pointer(const char *name)
{
    return name != NULL && (strncmp(name, "_vptr", 5) == 0 || strncmp(name, "_vbptr", 6) == 0);
}

static const char *member_name(const struct listing *listing, struct entry child, Dwarf_Half tag,
                               struct entry type)
{
    const char *name = entry_plain_name(listing->file, child);
    char *text;

    if (name != NULL && tag == DW_TAG_member)
        return name;
    if (tag == DW_TAG_inheritance) {
        name = entry_plain_name(listing->file, type);
        text = format_string("(base %s)", name != NULL ? name : "class");
        name = intern_table_string(listing->file->strings, text);
        free(text);
        return name;
    }
    return entry_tag(type) == DW_TAG_union_type ? "(unnamed union)" : "(unnamed struct)";
}

/* Older compilers count the bits of a field from the end of a word of its type (DWARF 2 and 3). */
static uint64_t first_bit(struct entry child, uint64_t size, uint64_t bits)
{
    uint64_t first = 0, from_top = 0;

    if (entry_number(child, DW_AT_data_bit_offset, &first))
        return first;
    if (entry_number(child, DW_AT_bit_offset, &from_top))
        return member_location(child) * 8 + size * 8 - from_top - bits;
    return member_location(child) * 8;
}

static bool visit_for_listing(void *context, struct entry child, Dwarf_Half tag)
{
    struct listing *listing = context;
    const struct dwarf_file *file = listing->file;
    struct type_member member = {.kind = MEMBER_PLAIN};
    struct entry type;
    uint64_t bits = 0;

    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || member_is_static(child))
        return true;
    type = type_open(file, entry_type(file, child));
    member.name = member_name(listing, child, tag, type);
    member.type = type_name(file, type);
    member.size = type_bytes(file, type, 0);
    member.offset = member_location(child);
    member.alignment = alignment_of_member(file, child, 0);
    if (type_is_open_array(type)) {
        member.kind = MEMBER_OPEN;
        member.size = 0;
    } else if (tag == DW_TAG_inheritance) {
        member.kind = MEMBER_BASE;
    } else if (is_table_pointer(member.name)) {
        member.kind = MEMBER_TABLE;
    } else if (entry_tag(type) == DW_TAG_union_type) {
        member.kind = MEMBER_UNION;
    }
    if (entry_number(child, DW_AT_bit_size, &bits) && bits > 0)
        add_bits(listing, member, first_bit(child, member.size, bits), bits);
    else if (!type_is_empty_class(file, type))
        ARRAY_PUSH(&listing->out->items, member);
    entry_release(type);
    return true;
}

static int compare_members(const void *left, const void *right)
{
    const struct type_member *a = left, *b = right;

    return (a->offset > b->offset) - (a->offset < b->offset);
}

static void find_declaration(struct dwarf_file *file, struct entry entry, struct type_members *out)
{
    struct type_reference type = entry_reference(file, entry);
    struct unit *unit = type.alternate ? NULL : unit_of_offset(file, type.offset);
    uint64_t number = 0, line = 0;

    if (unit == NULL || !entry_number(entry, DW_AT_decl_file, &number))
        return;
    unit_load_files(file, unit);
    out->file = unit_file(file, unit, number);
    out->line = entry_number(entry, DW_AT_decl_line, &line) ? (uint32_t)line : 0;
}

bool dwarf_file_type_members(struct dwarf_file *file, struct type_reference type,
                             struct type_members *out)
{
    struct entry entry = type_open(file, type);
    struct listing listing = {.file = file, .out = out};

    memset(out, 0, sizeof(*out));
    out->size = type_bytes(file, entry, 0);
    if (is_structure(entry_tag(entry)) && out->size > 0) {
        out->name = type_name(file, entry);
        out->is_union = entry_tag(entry) == DW_TAG_union_type;
        out->alignment = alignment_of(file, entry, 0);
        out->packed = out->size % out->alignment != 0;
        find_declaration(file, entry, out);
        entry_children(entry, visit_for_listing, &listing);
    }
    entry_release(entry);
    if (out->items.count == 0)
        return false;
    qsort(out->items.items, out->items.count, sizeof(*out->items.items), compare_members);
    for (size_t i = 0; i < out->items.count; i++)
        out->packed |= out->items.items[i].kind != MEMBER_BITS &&
                       out->items.items[i].offset % out->items.items[i].alignment != 0;
    return true;
}

/* The member of a structure that holds a byte. */
struct holder_search {
    const struct dwarf_file *file;
    uint64_t offset;
    struct entry found; /* the member's type; die NULL: none */
    uint64_t location;
};

static bool visit_for_holder(void *context, struct entry child, Dwarf_Half tag)
{
    struct holder_search *search = context;
    uint64_t location = member_location(child), bits;
    struct entry type;

    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || member_is_static(child) ||
        entry_number(child, DW_AT_bit_size, &bits))
        return true;
    type = type_open(search->file, entry_type(search->file, child));
    if (search->offset >= location && !type_is_empty_class(search->file, type) &&
        (type_is_open_array(type) ||
         search->offset - location < type_bytes(search->file, type, 0))) {
        search->found = type;
        search->location = location;
        return false;
    }
    entry_release(type);
    return true;
}

/* Structures of the language's library are members like any other: nobody can change them. */
static bool is_own(struct dwarf_file *file, struct entry entry)
{
    struct type_members declared = {.file = NULL};

    find_declaration(file, entry, &declared);
    return !is_library_source(declared.file);
}

size_t dwarf_file_type_levels(struct dwarf_file *file, struct type_reference type,
                              uint64_t object_size, uint64_t offset,
                              struct type_level out[TYPE_LEVELS_MAX])
{
    struct entry entry = type_open(file, type);
    uint64_t size = type_bytes(file, entry, 0), at = type_array_cookie(file, entry, object_size);
    uint64_t repeat =
        size > 0 && (object_size >= 2 * size || offset >= size) && !type_has_open_end(file, entry)
            ? size
            : 0;
    size_t count = 0;

    if (size == 0 || offset < at || (offset >= object_size && offset >= size)) {
        entry_release(entry);
        return 0;
    }
    at += repeat > 0 ? (offset - at) / size * size : 0;
    for (int depth = 0; entry.die != NULL && depth < DEPTH_MAX && count < TYPE_LEVELS_MAX;
         depth++) {
        struct entry inner = {0};
        Dwarf_Half tag = entry_tag(entry);

        if (is_structure(tag)) {
            struct holder_search search = {.file = file, .offset = offset - at};

            if (depth > 0 && !is_own(file, entry))
                break;
            out[count++] = (struct type_level){.type = entry_reference(file, entry),
                                               .offset = offset - at,
                                               .start = at,
                                               .repeat = repeat};
            if (tag != DW_TAG_union_type)
                entry_children(entry, visit_for_holder, &search);
            inner = search.found;
            at += search.location;
        } else if (tag == DW_TAG_array_type) {
            inner = type_open(file, entry_type(file, entry));
            size = type_bytes(file, inner, 0);
            if (size == 0) {
                entry_release(inner);
                inner = (struct entry){0};
            } else {
                at += (offset - at) / size * size;
                repeat = size;
            }
        }
        entry_release(entry);
        entry = inner;
    }
    entry_release(entry);
    return count;
}
