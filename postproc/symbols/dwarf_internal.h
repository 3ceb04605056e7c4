/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the DWARF reader share; nobody else includes it. */
#ifndef REUSE_POSTPROC_DWARF_INTERNAL_H
#define REUSE_POSTPROC_DWARF_INTERNAL_H

#include <dwarf.h>
#include <libdwarf.h>

#include "symbols/dwarf_file.h"
#include "symbols/elf_image.h"

/* Entries nest; anything deeper than this is damage. */
enum { DEPTH_MAX = 64, DIMENSIONS_MAX = 8 };

/* [low, high) belongs to entry number `index` of whatever the table is about. */
struct address_range {
    uint64_t low, high;
    uint32_t index;
};

typedef ARRAY(struct address_range) address_ranges;

/* [low, high) was compiled from this place. */
struct line_span {
    uint64_t low, high;
    uint32_t file, line, column;
};

/* A function, or one that was inlined into it. */
struct code_entry {
    Dwarf_Off die;
    const char *name; /* NULL until asked for */
    bool named;
    bool artificial; /* a thin cover (SIMD intrinsics, fortified memcpy); known once named */
    uint32_t parent; /* enclosing inlined entry; 0: the function itself */
    uint32_t call_file, call_line, call_column;
};

struct code_function {
    struct code_entry self;
    bool expanded;                    /* inlines and inline_ranges are filled */
    ARRAY(struct code_entry) inlines; /* entry k is number k + 1 */
    address_ranges inline_ranges;     /* index: number; inner ones come after outer ones */
};

struct unit {
    Dwarf_Off header; /* offset of the unit's header in .debug_info */
    Dwarf_Off die;    /* of the unit's top entry */
    Dwarf_Half version;
    const char *directory;

    bool functions_loaded, nested_loaded;
    ARRAY(struct code_function) functions;
    address_ranges function_ranges; /* sorted by low once loaded */

    bool files_loaded, lines_loaded;
    const char **files; /* by the number that DWARF uses; NULL entries possible */
    size_t file_count;
    ARRAY(struct line_span) lines; /* sorted by low */

    struct intern_table *variables, *members; /* names; NULL until asked for */
};

struct dwarf_file {
    int descriptor, alternate_descriptor;
    struct elf_image *image;      /* the same file, for what is read without libdwarf */
    Dwarf_Debug debug, alternate; /* alternate: NULL if none */
    struct intern_table *strings;
    ARRAY(struct unit) units;   /* by header offset */
    address_ranges unit_ranges; /* sorted by low */
    size_t split_units;
};

/* A debugging entry together with the file that it lies in. die NULL: none. */
struct entry {
    Dwarf_Debug debug;
    Dwarf_Die die;
};

/* True for DW_DLV_OK; releases the error otherwise. */
bool dwarf_succeeded(Dwarf_Debug, int result, Dwarf_Error);

void entry_release(struct entry);
struct entry entry_at(Dwarf_Debug, Dwarf_Off);

/* The entry that a reference attribute leads to. */
struct entry entry_follow(const struct dwarf_file *, struct entry, Dwarf_Half attribute);

/* NULL if the entry has no such attribute; release with dwarf_dealloc_attribute(). */
Dwarf_Attribute entry_attribute(struct entry, Dwarf_Half attribute);
bool entry_number(struct entry, Dwarf_Half attribute, uint64_t *value);
bool entry_text(struct entry, Dwarf_Half attribute, const char **text); /* lives with the file */
bool entry_flag(struct entry, Dwarf_Half attribute);

/* Appends the entry's code ranges with the given index. */
void entry_ranges(struct entry, Dwarf_Half version, uint64_t unit_low, uint32_t index,
                  address_ranges *out);

/* Readable name, looking through abstract origins and specifications; NULL if it has none. */
const char *entry_name(const struct dwarf_file *, struct entry);

/* DW_AT_name, looking through abstract origins and specifications; NULL if it has none. */
const char *entry_plain_name(const struct dwarf_file *, struct entry);

/* The entry itself, as a type to keep; offset 0: there is none. */
struct type_reference entry_reference(const struct dwarf_file *, struct entry);

/* The type that the entry, or what it completes, is declared with. */
struct type_reference entry_type(const struct dwarf_file *, struct entry);

/* The entry of a type; die NULL if there is none. */
struct entry entry_of_type(const struct dwarf_file *, struct type_reference);

/* Looks through names and qualifiers: the structure, array, pointer or number that it is. */
struct entry type_open(const struct dwarf_file *, struct type_reference);
Dwarf_Half entry_tag(struct entry); /* 0: no entry */
/* Bytes of a type that is open; 0 unknown. depth: 0. */
uint64_t type_bytes(const struct dwarf_file *, struct entry, int depth);
/* "struct cell"; NULL: it has no name. */
const char *type_name(const struct dwarf_file *, struct entry);

struct dimensions {
    uint64_t counts[DIMENSIONS_MAX]; /* outermost first; 0 unknown */
    size_t count;
};
/* Of an array type that is open. */
struct dimensions array_dimensions(struct entry);
/* An array without a length: the last member of a structure that its block is longer than. */
bool type_is_open_array(struct entry);
/* A structure that ends with one. */
bool type_has_open_end(const struct dwarf_file *, struct entry);
/* Classes without data have a size, but as bases they take no room. */
bool type_is_empty_class(const struct dwarf_file *, struct entry);
bool member_is_static(struct entry);
uint64_t member_location(struct entry); /* bytes; of a bit field, where its first bit lies */

/* new T[n] of a class with a destructor keeps n before the elements (Itanium C++ ABI, 2.7): the
 * bytes that lie before the first element, 0 where there is no such count. */
uint64_t type_array_cookie(const struct dwarf_file *, struct entry, uint64_t object_size);

/* Calls visit for each child until it returns false. */
typedef bool (*entry_visitor)(void *context, struct entry child, Dwarf_Half tag);
void entry_children(struct entry, entry_visitor visit, void *context);

void sort_ranges(address_ranges *);

/* First range that holds the address when ranges may overlap a little; NULL if none. */
const struct address_range *find_range(const address_ranges *, uint64_t address);

/* Lowest address of the unit, the base of its range lists. */
uint64_t unit_low_address(struct entry unit_die);

void unit_load_files(struct dwarf_file *, struct unit *);
void unit_load_lines(struct dwarf_file *, struct unit *);
const char *unit_file(struct dwarf_file *, struct unit *, uint64_t number);
const struct line_span *unit_line(struct dwarf_file *, struct unit *, uint64_t address);

/* The unit that holds an offset of .debug_info. */
struct unit *unit_of_offset(struct dwarf_file *, Dwarf_Off);
struct unit *unit_of_address(struct dwarf_file *, uint64_t address);

/* The function that covers an address in the unit, with its inlined functions; NULL if none. */
struct code_function *unit_function(struct dwarf_file *, struct unit *, uint64_t address);

#endif
