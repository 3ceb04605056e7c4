/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is a name declared where a function was compiled, and as what type? Guards names that were read
 * from source text.
 */
#include <string.h>

#include "symbols/dwarf_internal.h"

static void insert_name(struct intern_table *names, const char *name)
{
    if (name != NULL)
        intern_table_insert(names, name, strlen(name));
}

struct collection {
    struct dwarf_file *file;
    struct intern_table *variables, *members;
    int depth;
};

static void collect_imported(struct collection *collection, struct entry import);

/* Variables of the file and its namespaces, members of any structure in the unit. */
static bool collect_names(void *context, struct entry child, Dwarf_Half tag)
{
    struct collection *outer = context, collection = *outer;

    if (++collection.depth > DEPTH_MAX)
        return false;
    switch (tag) {
    case DW_TAG_variable:
        insert_name(collection.variables, entry_plain_name(collection.file, child));
        break;
    case DW_TAG_member:
        insert_name(collection.members, entry_plain_name(collection.file, child));
        break;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram: /* structures that are local to a function */
    case DW_TAG_lexical_block:
        if (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block) {
            struct intern_table *locals = intern_table_create();

            collection.variables = locals;
            entry_children(child, collect_names, &collection);
            intern_table_free(locals);
        } else {
            entry_children(child, collect_names, &collection);
        }
        break;
    case DW_TAG_imported_unit:
        collect_imported(&collection, child);
        break;
    default:
        break;
    }
    return true;
}

/* dwz moves what units have in common into partial units. */
static void collect_imported(struct collection *collection, struct entry import)
{
    struct entry unit = entry_follow(collection->file, import, DW_AT_import);

    if (unit.die != NULL)
        entry_children(unit, collect_names, collection);
    entry_release(unit);
}

static void load_names(struct dwarf_file *file, struct unit *unit)
{
    struct entry die = entry_at(file->debug, unit->die);
    struct collection collection = {.file = file};

    unit->variables = intern_table_create();
    unit->members = intern_table_create();
    collection.variables = unit->variables;
    collection.members = unit->members;
    if (die.die != NULL)
        entry_children(die, collect_names, &collection);
    entry_release(die);
}

struct type_search {
    struct dwarf_file *file;
    const char *name;
    bool member;
    bool declared;               /* as a local variable */
    struct type_reference found; /* its type, if the debug information tells */
    bool several;                /* members of that name with different types */
    int depth;
};

static bool is_named(const struct dwarf_file *file, struct entry entry, const char *wanted)
{
    const char *name = entry_plain_name(file, entry);

    return name != NULL && strcmp(name, wanted) == 0;
}

static void take_type(struct type_search *search, struct entry child)
{
    struct type_reference type = entry_type(search->file, child);

    if (type.offset == 0)
        return;
    if (search->found.offset != 0 &&
        (search->found.offset != type.offset || search->found.alternate != type.alternate))
        search->several = true;
    search->found = type;
}

/* Locals of a function and its blocks. */
static bool visit_for_local(void *context, struct entry child, Dwarf_Half tag)
{
    struct type_search *search = context;

    switch (tag) {
    case DW_TAG_variable:
    case DW_TAG_formal_parameter:
        if (is_named(search->file, child, search->name)) {
            search->declared = true;
            search->found = entry_type(search->file, child);
        }
        break;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        if (++search->depth <= DEPTH_MAX)
            entry_children(child, visit_for_local, search);
        search->depth--;
        break;
    default:
        break;
    }
    return search->found.offset == 0;
}

/* Variables of the file and its namespaces, or members of any structure. */
static bool visit_for_unit_type(void *context, struct entry child, Dwarf_Half tag)
{
    struct type_search *search = context;
    struct entry imported;

    switch (tag) {
    case DW_TAG_variable:
        if (!search->member && is_named(search->file, child, search->name))
            search->found = entry_type(search->file, child);
        break;
    case DW_TAG_member:
        if (search->member && is_named(search->file, child, search->name))
            take_type(search, child);
        break;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        if (++search->depth <= DEPTH_MAX)
            entry_children(child, visit_for_unit_type, search);
        search->depth--;
        break;
    case DW_TAG_subprogram: /* structures that are local to a function */
    case DW_TAG_lexical_block:
        if (search->member && ++search->depth <= DEPTH_MAX) {
            entry_children(child, visit_for_unit_type, search);
            search->depth--;
        }
        break;
    case DW_TAG_imported_unit:
        imported = entry_follow(search->file, child, DW_AT_import);
        if (imported.die != NULL && ++search->depth <= DEPTH_MAX) {
            entry_children(imported, visit_for_unit_type, search);
            search->depth--;
        }
        entry_release(imported);
        break;
    default:
        break;
    }
    return search->member ? !search->several : search->found.offset == 0;
}

/* Structures of the unit, its namespaces, functions and other structures. */
static bool visit_for_structure(void *context, struct entry child, Dwarf_Half tag)
{
    struct type_search *search = context;
    struct entry imported = {0};

    switch (tag) {
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
        if (!entry_flag(child, DW_AT_declaration) && is_named(search->file, child, search->name)) {
            search->several |= search->found.offset != 0;
            search->found = entry_reference(search->file, child);
        }
        break;
    case DW_TAG_namespace:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
        break;
    case DW_TAG_imported_unit:
        child = imported = entry_follow(search->file, child, DW_AT_import);
        break;
    default:
        return true;
    }
    if (child.die != NULL && ++search->depth <= DEPTH_MAX) {
        entry_children(child, visit_for_structure, search);
        search->depth--;
    }
    entry_release(imported);
    return !search->several;
}

static Dwarf_Off offset_of(struct entry entry)
{
    Dwarf_Off offset = 0;
    Dwarf_Error error = NULL;

    return dwarf_succeeded(entry.debug, dwarf_dieoffset(entry.die, &offset, &error), error) ? offset
                                                                                            : 0;
}

/* The child that holds an entry: the last one that begins before it. */
struct holder_search {
    Dwarf_Off wanted, holder; /* 0: none */
    Dwarf_Half tag;           /* of the holder */
};

static bool visit_for_holder(void *context, struct entry child, Dwarf_Half tag)
{
    struct holder_search *search = context;
    Dwarf_Off offset = offset_of(child);

    if (offset >= search->wanted)
        return false;
    search->holder = offset;
    search->tag = tag;
    return true;
}

/* In the functions that a function is written in, from the outermost one on: procedures of Fortran
 * that a program contains use its variables. */
static void search_hosts(struct type_search *search, Dwarf_Off function)
{
    struct unit *unit = unit_of_offset(search->file, function);
    struct entry die = unit != NULL ? entry_at(search->file->debug, unit->die) : (struct entry){0};

    for (int depth = 0; die.die != NULL && depth < DEPTH_MAX; depth++) {
        struct holder_search holder = {.wanted = function};

        entry_children(die, visit_for_holder, &holder);
        entry_release(die);
        die = holder.holder != 0 ? entry_at(search->file->debug, holder.holder) : (struct entry){0};
        if (die.die != NULL && holder.tag == DW_TAG_subprogram)
            entry_children(die, visit_for_local, search);
    }
    entry_release(die);
}

/* In the function itself, in what it is an instance of (its blocks may have been dropped), and in
 * what that is written in. */
static void search_local(struct type_search *search, Dwarf_Off scope)
{
    struct entry die = entry_at(search->file->debug, scope), origin;
    Dwarf_Off function = scope;

    if (die.die == NULL)
        return;
    entry_children(die, visit_for_local, search);
    if (search->found.offset == 0) {
        origin = entry_follow(search->file, die, DW_AT_abstract_origin);
        if (origin.die != NULL) {
            entry_children(origin, visit_for_local, search);
            function = origin.debug == search->file->debug ? offset_of(origin) : 0;
        }
        entry_release(origin);
    }
    if (function != 0 && !search->declared)
        search_hosts(search, function);
    entry_release(die);
}

enum declared_as dwarf_file_declares(struct dwarf_file *file, uint64_t address,
                                     const struct source_frame *frame, const char *name)
{
    struct type_search search = {.file = file, .name = name};
    struct unit *unit = unit_of_address(file, address);

    if (unit == NULL)
        return DECLARED_NOWHERE;
    if (frame->scope != 0)
        search_local(&search, frame->scope);
    if (search.declared)
        return DECLARED_VARIABLE;
    if (unit->variables == NULL)
        load_names(file, unit);
    if (intern_table_find(unit->variables, name, strlen(name)) != INTERN_TABLE_NONE)
        return DECLARED_VARIABLE;
    if (intern_table_find(unit->members, name, strlen(name)) != INTERN_TABLE_NONE)
        return DECLARED_MEMBER;
    return DECLARED_NOWHERE;
}

struct type_reference dwarf_file_structure(struct dwarf_file *file, uint64_t address,
                                           const char *name)
{
    struct type_search search = {.file = file, .name = name};
    struct unit *unit = unit_of_address(file, address);
    struct entry die;

    if (unit == NULL)
        return search.found;
    die = entry_at(file->debug, unit->die);
    if (die.die != NULL)
        entry_children(die, visit_for_structure, &search);
    entry_release(die);
    return search.several ? (struct type_reference){0} : search.found;
}

struct type_reference dwarf_file_declared_type(struct dwarf_file *file, uint64_t address,
                                               const struct source_frame *frame, const char *name,
                                               bool member)
{
    struct type_search search = {.file = file, .name = name};
    struct unit *unit = unit_of_address(file, address);
    struct entry die;

    if (unit == NULL)
        return search.found;
    if (!member && frame->scope != 0)
        search_local(&search, frame->scope);
    die = entry_at(file->debug, unit->die);
    if (!member && search.found.offset == 0 && die.die != NULL)
        entry_children(die, visit_for_unit_type, &search);
    /* In a method, a name alone can be a member. */
    search.member = true;
    if (search.found.offset == 0 && die.die != NULL)
        entry_children(die, visit_for_unit_type, &search);
    entry_release(die);
    return search.several ? (struct type_reference){0} : search.found;
}
