/* SPDX-License-Identifier: BSD-3-Clause */
/* Types: what they are, how large, and what a pointer leads to. */
#include <stdlib.h>
#include <string.h>

#include "symbols/dwarf_internal.h"

struct entry entry_of_type(const struct dwarf_file *file, struct type_reference type)
{
    Dwarf_Debug debug = type.alternate ? file->alternate : file->debug;

    if (type.offset == 0 || debug == NULL)
        return (struct entry){0};
    return entry_at(debug, type.offset);
}

struct type_reference entry_reference(const struct dwarf_file *file, struct entry entry)
{
    struct type_reference type = {.alternate = entry.debug == file->alternate};
    Dwarf_Error error = NULL;
    Dwarf_Off offset = 0;

    if (entry.die != NULL &&
        dwarf_succeeded(entry.debug, dwarf_dieoffset(entry.die, &offset, &error), error))
        type.offset = offset;
    return type;
}

struct type_reference entry_type(const struct dwarf_file *file, struct entry entry)
{
    static const Dwarf_Half links[] = {DW_AT_specification, DW_AT_abstract_origin};
    struct entry found = entry_follow(file, entry, DW_AT_type);
    struct type_reference type = entry_reference(file, found);

    entry_release(found);
    for (size_t i = 0; i < 2 && type.offset == 0; i++) {
        struct entry origin = entry_follow(file, entry, links[i]);

        if (origin.die != NULL) {
            found = entry_follow(file, origin, DW_AT_type);
            type = entry_reference(file, found);
            entry_release(found);
        }
        entry_release(origin);
    }
    return type;
}

Dwarf_Half entry_tag(struct entry entry)
{
    Dwarf_Error error = NULL;
    Dwarf_Half tag = 0;

    if (entry.die == NULL ||
        !dwarf_succeeded(entry.debug, dwarf_tag(entry.die, &tag, &error), error))
        return 0;
    return tag;
}

struct entry type_open(const struct dwarf_file *file, struct type_reference type)
{
    struct entry entry = entry_of_type(file, type);

    for (int depth = 0; entry.die != NULL && depth < DEPTH_MAX; depth++) {
        struct entry next;

        switch (entry_tag(entry)) {
        case DW_TAG_typedef:
        case DW_TAG_const_type:
        case DW_TAG_volatile_type:
        case DW_TAG_restrict_type:
        case DW_TAG_atomic_type:
            next = entry_follow(file, entry, DW_AT_type);
            entry_release(entry);
            entry = next;
            break;
        default:
            return entry;
        }
    }
    entry_release(entry);
    return (struct entry){0};
}

static bool visit_for_dimensions(void *context, struct entry child, Dwarf_Half tag)
{
    struct dimensions *dimensions = context;
    uint64_t number = 0;

    if (tag != DW_TAG_subrange_type || dimensions->count == DIMENSIONS_MAX)
        return dimensions->count < DIMENSIONS_MAX;
    if (entry_number(child, DW_AT_count, &number))
        dimensions->counts[dimensions->count] = number;
    else if (entry_number(child, DW_AT_upper_bound, &number) && number + 1 != 0)
        dimensions->counts[dimensions->count] = number + 1;
    dimensions->count++;
    return true;
}

struct dimensions array_dimensions(struct entry array)
{
    struct dimensions dimensions = {.count = 0};

    entry_children(array, visit_for_dimensions, &dimensions);
    return dimensions;
}

bool type_is_open_array(struct entry entry)
{
    struct dimensions dimensions;

    if (entry_tag(entry) != DW_TAG_array_type)
        return false;
    dimensions = array_dimensions(entry);
    return dimensions.count == 0 || dimensions.counts[0] == 0;
}

uint64_t type_bytes(const struct dwarf_file *file, struct entry entry, int depth)
{
    uint64_t size = 0;

    if (entry.die == NULL || depth > DEPTH_MAX)
        return 0;
    if (entry_number(entry, DW_AT_byte_size, &size))
        return size;
    switch (entry_tag(entry)) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        return sizeof(void *);
    case DW_TAG_array_type: {
        struct entry element = type_open(file, entry_type(file, entry));
        struct dimensions dimensions = array_dimensions(entry);

        size = type_bytes(file, element, depth + 1);
        entry_release(element);
        for (size_t i = 0; i < dimensions.count; i++)
            size = dimensions.counts[i] > 0 && size < UINT64_MAX / dimensions.counts[i]
                       ? size * dimensions.counts[i]
                       : 0;
        return size;
    }
    default:
        return 0;
    }
}

uint64_t dwarf_file_type_size(struct dwarf_file *file, struct type_reference type)
{
    struct entry entry = type_open(file, type);
    uint64_t size = type_bytes(file, entry, 0);

    entry_release(entry);
    return size;
}

struct argument_search {
    const struct dwarf_file *file;
    struct type_reference found;
};

static bool visit_for_argument(void *context, struct entry child, Dwarf_Half tag)
{
    struct argument_search *search = context;

    if (tag != DW_TAG_template_type_parameter)
        return true;
    search->found = entry_type(search->file, child);
    return false;
}

/* What std::vector<T, ...> and its like keep on the heap: their first template argument. */
static struct type_reference element_of_class(const struct dwarf_file *file, struct entry entry)
{
    static const char *const holders[] = {"vector<", "unique_ptr<", "_Vector_base<", "valarray<"};
    struct argument_search search = {.file = file};
    const char *name = entry_plain_name(file, entry);

    for (size_t i = 0; name != NULL && i < sizeof(holders) / sizeof(*holders); i++)
        if (strncmp(name, holders[i], strlen(holders[i])) == 0)
            entry_children(entry, visit_for_argument, &search);
    return search.found;
}

/* An array stands for its elements. */
static struct type_reference element_of_array(const struct dwarf_file *file,
                                              struct type_reference type)
{
    struct entry entry = type_open(file, type);

    if (entry_tag(entry) == DW_TAG_array_type)
        type = entry_type(file, entry);
    entry_release(entry);
    return type;
}

/* A C++ reference stands for what it refers to. */
static struct type_reference without_reference(const struct dwarf_file *file,
                                               struct type_reference type)
{
    struct entry entry = type_open(file, type);

    if (entry_tag(entry) == DW_TAG_reference_type ||
        entry_tag(entry) == DW_TAG_rvalue_reference_type)
        type = entry_type(file, entry);
    entry_release(entry);
    return type;
}

struct type_reference dwarf_file_type_pointee(struct dwarf_file *file, struct type_reference type,
                                              unsigned subscripts)
{
    struct type_reference pointee = {0};

    type = without_reference(file, type);
    for (unsigned level = 0; level <= subscripts; level++) {
        struct entry entry = type_open(file, type);

        switch (entry_tag(entry)) {
        case DW_TAG_pointer_type:
        case DW_TAG_array_type:
            pointee = entry_type(file, entry);
            break;
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
            pointee = element_of_array(file, element_of_class(file, entry));
            break;
        default:
            pointee = (struct type_reference){0};
            break;
        }
        entry_release(entry);
        type = pointee;
    }
    return pointee;
}

struct data_search {
    const struct dwarf_file *file;
    bool found;
    int depth;
};

bool member_is_static(struct entry child)
{
    return entry_flag(child, DW_AT_external) || entry_flag(child, DW_AT_declaration);
}

static bool visit_for_data(void *context, struct entry child, Dwarf_Half tag)
{
    struct data_search *search = context;

    if (tag == DW_TAG_member && !member_is_static(child))
        search->found = true;
    if (tag == DW_TAG_inheritance && ++search->depth < DEPTH_MAX) {
        struct entry base = type_open(search->file, entry_type(search->file, child));

        if (base.die != NULL)
            entry_children(base, visit_for_data, search);
        entry_release(base);
    }
    return !search->found;
}

struct shape_search {
    const struct dwarf_file *file;
    bool open_end, destructor;
};

static bool visit_for_shape(void *context, struct entry child, Dwarf_Half tag)
{
    struct shape_search *search = context;
    const char *name;
    struct entry type;

    if (tag == DW_TAG_member && !member_is_static(child)) {
        type = type_open(search->file, entry_type(search->file, child));
        search->open_end = type_is_open_array(type);
        entry_release(type);
    }
    if (tag == DW_TAG_subprogram && (name = entry_plain_name(search->file, child)) != NULL)
        search->destructor |= *name == '~';
    return true;
}

static struct shape_search shape_of(const struct dwarf_file *file, struct entry entry)
{
    struct shape_search shape = {.file = file};
    Dwarf_Half tag = entry_tag(entry);

    if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type)
        entry_children(entry, visit_for_shape, &shape);
    return shape;
}

bool type_is_empty_class(const struct dwarf_file *file, struct entry entry)
{
    struct data_search search = {.file = file};
    Dwarf_Half tag = entry_tag(entry);

    if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type)
        return false;
    entry_children(entry, visit_for_data, &search);
    return !search.found;
}

bool type_has_open_end(const struct dwarf_file *file, struct entry entry)
{
    return shape_of(file, entry).open_end;
}

uint64_t member_location(struct entry child)
{
    uint64_t location = 0, bits = 0;

    if (!entry_number(child, DW_AT_data_member_location, &location) &&
        entry_number(child, DW_AT_data_bit_offset, &bits))
        location = bits / 8;
    return location;
}

const char *type_name(const struct dwarf_file *file, struct entry entry)
{
    const char *name = entry_plain_name(file, entry), *kept;
    char *text;

    if (name == NULL)
        return NULL;
    if (entry_tag(entry) != DW_TAG_structure_type && entry_tag(entry) != DW_TAG_union_type)
        return name;
    text = format_string("%s %s", entry_tag(entry) == DW_TAG_union_type ? "union" : "struct", name);
    kept = intern_table_string(file->strings, text);
    free(text);
    return kept;
}

/* Bytes of the count. */
enum { ARRAY_COOKIE = 8 };

uint64_t type_array_cookie(const struct dwarf_file *file, struct entry entry, uint64_t object_size)
{
    uint64_t size = type_bytes(file, entry, 0);

    return size > 0 && object_size > size && object_size % size == ARRAY_COOKIE &&
                   shape_of(file, entry).destructor
               ? ARRAY_COOKIE
               : 0;
}
