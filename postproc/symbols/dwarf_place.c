/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lies at an offset of an object: a member, an element, padding. Members of base classes are
 * named as if they were the class's own, as in source.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/dwarf_internal.h"

/* A place that is being looked for: `offset` counts from the start of what is left to search. */
struct descent {
    const struct dwarf_file *file;
    uint64_t offset, start; /* start: of that, within the object */
    uint64_t end;           /* of the object, counted like offset */
    char *path;
    size_t element_path; /* length of the part of path that names the element */
    struct type_place *out;
    int depth;
};

static void extend_path(struct descent *descent, const char *text)
{
    char *longer = format_string("%s%s", descent->path, text);

    free(descent->path);
    descent->path = longer;
}

static void descend(struct descent *, struct entry);

/* Members with names that only the language's library may use tell the program nothing. */
static bool is_reserved(const char *name)
{
    return strncmp(name, "_M_", 3) == 0 || strncmp(name, "__", 2) == 0;
}

/* The member of a structure that covers an offset, or the gap around it. */
struct member_search {
    struct descent *descent;
    struct entry found; /* of the member's type; die NULL: none covers it */
    const char *name;   /* NULL: it has none, as base classes and anonymous structures */
    uint64_t location, size;
    uint64_t gap_start, gap_end;
};

static bool visit_for_member(void *context, struct entry child, Dwarf_Half tag)
{
    struct member_search *search = context;
    const struct dwarf_file *file = search->descent->file;
    uint64_t offset = search->descent->offset, location, size, bits;
    struct entry type;

    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || member_is_static(child))
        return true;
    location = member_location(child);
    type = type_open(file, entry_type(file, child));
    size = type_bytes(file, type, 0);
    /* char data[]: as long as the block is. */
    if (type_is_open_array(type))
        size = search->descent->end - location;
    if (entry_number(child, DW_AT_bit_size, &bits) && bits > 0)
        size = (bits + 7) / 8;
    if (type_is_empty_class(file, type)) {
        entry_release(type);
        return true;
    }
    if (offset >= location && offset - location < size) {
        search->found = type;
        search->name = tag == DW_TAG_member ? entry_plain_name(file, child) : NULL;
        search->location = location;
        search->size = size;
        return false;
    }
    if (location + size <= offset && location + size > search->gap_start)
        search->gap_start = location + size;
    if (location > offset && location < search->gap_end)
        search->gap_end = location;
    entry_release(type);
    return true;
}

static void descend_structure(struct descent *descent, struct entry entry)
{
    struct member_search search = {.descent = descent,
                                   .gap_end = type_bytes(descent->file, entry, 0)};

    entry_children(entry, visit_for_member, &search);
    if (search.found.die == NULL) {
        descent->out->padding = true;
        descent->out->offset = descent->start + search.gap_start;
        descent->out->size = search.gap_end - search.gap_start;
        extend_path(descent, ".(padding)");
        return;
    }
    if (search.name != NULL && is_reserved(search.name)) {
        entry_release(search.found);
        return;
    }
    if (search.name != NULL) {
        extend_path(descent, ".");
        extend_path(descent, search.name);
    }
    descent->start += search.location;
    descent->offset -= search.location;
    descent->end -= search.location;
    descent->out->offset = descent->start;
    descent->out->size = search.size;
    descend(descent, search.found);
    entry_release(search.found);
}

/* "[2][3]": the indexes of an element of an array with these dimensions. */
static void extend_by_indexes(struct descent *descent, const struct dimensions *dimensions,
                              uint64_t index)
{
    uint64_t below = 1;

    for (size_t i = 1; i < dimensions->count; i++)
        below *= dimensions->counts[i] > 0 ? dimensions->counts[i] : 1;
    for (size_t i = 0; i < dimensions->count; i++) {
        char *text = format_string("[%" PRIu64 "]", index / below);

        extend_path(descent, text);
        free(text);
        index %= below;
        if (i + 1 < dimensions->count && dimensions->counts[i + 1] > 0)
            below /= dimensions->counts[i + 1];
    }
}

/* Of several elements of the same type: which one, and what in it. */
static void descend_elements(struct descent *descent, struct entry element, uint64_t size,
                             const struct dimensions *dimensions)
{
    uint64_t index = descent->offset / size, first = descent->start;

    extend_by_indexes(descent, dimensions, index);
    descent->start += index * size;
    descent->offset -= index * size;
    descent->end -= index * size;
    descent->out->offset = descent->start;
    descent->out->size = size;
    if (descent->depth <= 1 && !descent->out->in_array) {
        descent->out->in_array = true;
        descent->out->element = index;
        descent->out->element_size = size;
        descent->out->first_element = first;
        descent->out->element_type = type_name(descent->file, element);
        descent->element_path = strlen(descent->path);
    }
    descend(descent, element);
}

static void descend(struct descent *descent, struct entry entry)
{
    struct dimensions dimensions;
    struct entry element;
    uint64_t size;

    if (++descent->depth > DEPTH_MAX)
        return;
    switch (entry_tag(entry)) {
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        descend_structure(descent, entry);
        break;
    case DW_TAG_array_type:
        element = type_open(descent->file, entry_type(descent->file, entry));
        size = type_bytes(descent->file, element, 0);
        dimensions = array_dimensions(entry);
        if (size > 0 && dimensions.count > 0)
            descend_elements(descent, element, size, &dimensions);
        entry_release(element);
        break;
    default:
        break;
    }
}

bool dwarf_file_type_place(struct dwarf_file *file, struct type_reference type,
                           uint64_t object_size, uint64_t offset, struct type_place *out)
{
    struct entry entry = type_open(file, type);
    uint64_t size = type_bytes(file, entry, 0);
    struct descent descent = {
        .file = file, .offset = offset, .end = object_size, .path = copy_string(""), .out = out};
    uint64_t cookie = type_array_cookie(file, entry, object_size);
    bool known = size > 0 && (offset < object_size || offset < size) && offset >= cookie;

    memset(out, 0, sizeof(*out));
    if (known) {
        out->size = size;
        out->element_type = type_name(file, entry);
        descent.start = cookie;
        descent.offset -= cookie;
        descent.end -= cookie;
        if ((object_size >= 2 * size || offset >= size) && !type_has_open_end(file, entry))
            descend_elements(&descent, entry, size, &(struct dimensions){.count = 1});
        else
            descend(&descent, entry);
        out->path = intern_table_string(file->strings, descent.path);
        out->member = intern_table_string(file->strings, descent.path + descent.element_path);
    }
    free(descent.path);
    entry_release(entry);
    return known;
}
