/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Debug information of one file, through libdwarf. DWARF 2 to 5; read lazily, one compile unit at a
 * time, so that a question about one address in a large program costs one unit.
 * All addresses are link-time addresses. Strings live in the intern_table given at open.
 */
#ifndef REUSE_POSTPROC_DWARF_FILE_H
#define REUSE_POSTPROC_DWARF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/intern_table.h"
#include "support/memory.h"

struct dwarf_file;

/* One function that an address belongs to: the innermost inlined one, its caller, ... */
struct source_frame {
    const char *function;  /* readable name without parameters; NULL unknown */
    const char *file;      /* path as compiled, made absolute with `directory`; NULL unknown */
    const char *directory; /* of the compilation; NULL unknown */
    uint32_t line;         /* 0: unknown */
    uint32_t column;       /* 1..; 0: unknown */
    uint64_t scope;        /* for dwarf_file_declares(); 0: unknown */
};

typedef ARRAY(struct source_frame) source_frames;

/* A type of the debug information; offset 0: none. */
struct type_reference {
    uint64_t offset;
    bool alternate; /* in the file that dwz moved common parts to */
};

/* A static variable and where it is declared. */
struct declared_variable {
    const char *name; /* qualified; NULL: not found */
    const char *file;
    uint32_t line;
    struct type_reference type;
};

/*
 * Opens the file's debug information; alternate is the file that dwz moved common parts to, or
 * NULL. NULL if there is no debug information that libdwarf can read.
 */
struct dwarf_file *dwarf_file_open(const char *path, const char *alternate,
                                   struct intern_table *strings);
void dwarf_file_close(struct dwarf_file *);

/*
 * Appends the frames of an address, innermost first; appends nothing if no unit covers it. Inlined
 * functions that are declared artificial are left out: debuggers take them for one operation too.
 */
void dwarf_file_frames(struct dwarf_file *, uint64_t address, source_frames *out);

/* [low, high) was compiled from one line; column 0: unknown. */
struct line_code {
    uint64_t low, high;
    uint32_t column;
};

typedef ARRAY(struct line_code) line_codes;

/* Appends the code that the line of an address became, wherever it lies, in order of addresses. */
void dwarf_file_line_code(struct dwarf_file *, uint64_t address, line_codes *out);

/* Finds the variables that start at the addresses; fills out[0..n-1]. One pass for all of them. */
void dwarf_file_variables(struct dwarf_file *, const uint64_t *addresses, size_t n,
                          struct declared_variable *out);

enum declared_as {
    DECLARED_NOWHERE,
    DECLARED_VARIABLE, /* a variable or parameter of the function, or of its file or namespace */
    DECLARED_MEMBER,   /* a member of a structure or class of the same compile unit */
};

/* What `name` is where the function of a frame was compiled. address: as given for the frame. */
enum declared_as dwarf_file_declares(struct dwarf_file *, uint64_t address,
                                     const struct source_frame *, const char *name);

/*
 * The type of the variable, parameter or member (member: true) `name`, where the function of a
 * frame was compiled; no type when members of that name have different ones.
 */
struct type_reference dwarf_file_declared_type(struct dwarf_file *, uint64_t address,
                                               const struct source_frame *, const char *name,
                                               bool member);

/*
 * The structure or class `name` (without its scope) of the compile unit of the address; no type
 * when there are several of that name.
 */
struct type_reference dwarf_file_structure(struct dwarf_file *, uint64_t address, const char *name);

/* Bytes; 0 unknown. */
uint64_t dwarf_file_type_size(struct dwarf_file *, struct type_reference);

/*
 * What memory consists of that an expression of this type points to, after `subscripts` further [].
 * Pointers, arrays, and the C++ library's vector and unique_ptr; none for others.
 */
struct type_reference dwarf_file_type_pointee(struct dwarf_file *, struct type_reference,
                                              unsigned subscripts);

/* What lies at an offset of an object: the innermost member or array element. */
struct type_place {
    const char *path;      /* ".word[2]", "[3].left", "" for the whole object */
    uint64_t offset, size; /* of it, within the object */
    /* The outermost array that the object is, if it is one. */
    bool in_array;
    uint64_t element, element_size;
    uint64_t first_element;   /* offset of element 0 */
    const char *element_type; /* "struct cell"; of an array its elements'. NULL: it has no name */
    const char *member;       /* path without the element: ".left", "" */
    bool padding;             /* between members: offset and size are of the gap */
};

/*
 * object_size: bytes; when it is larger than the type's, the object is an array of the type. False
 * when the type is not known or the offset is outside.
 */
bool dwarf_file_type_place(struct dwarf_file *, struct type_reference, uint64_t object_size,
                           uint64_t offset, struct type_place *out);

/* A structure, class or union on the way from an object to one of its bytes. */
struct type_level {
    struct type_reference type;
    uint64_t offset; /* of the byte, within one of them */
    uint64_t start;  /* of that one, within the object */
    uint64_t repeat; /* bytes from it to the next of its kind; 0: the only one in the object */
};

enum { TYPE_LEVELS_MAX = 8 };

/*
 * The structures that hold a byte of an object, outermost first; what lies in a union is not looked
 * into. Arguments as for dwarf_file_type_place(). Returns how many.
 */
size_t dwarf_file_type_levels(struct dwarf_file *, struct type_reference, uint64_t object_size,
                              uint64_t offset, struct type_level out[TYPE_LEVELS_MAX]);

enum member_kind {
    MEMBER_PLAIN,
    MEMBER_BITS,  /* bit fields that share bytes, as one */
    MEMBER_BASE,  /* base class */
    MEMBER_TABLE, /* pointer to the table of virtual functions, or to a virtual base */
    MEMBER_UNION, /* several in one place */
    MEMBER_OPEN,  /* an array without length, which lasts to the end of the block */
};

struct type_member {
    enum member_kind kind;
    const char *name;      /* "left", "ready, busy"; never NULL */
    const char *type;      /* NULL: it has no name */
    uint64_t offset, size; /* bytes; an open array has size 0 */
    uint64_t alignment;    /* bytes that its type asks for, a power of two */
};

struct type_members {
    const char *name; /* "struct cell", "Cell"; NULL: it has none */
    const char *file; /* of the declaration; NULL: unknown */
    uint32_t line;
    uint64_t size, alignment;
    bool is_union;
    bool packed;                     /* a member lies where its type cannot */
    ARRAY(struct type_member) items; /* by offset; the caller frees them */
};

/* False if the type is no structure, class or union whose members are known. */
bool dwarf_file_type_members(struct dwarf_file *, struct type_reference, struct type_members *out);

/* Units whose details are in .dwo files, which are not read. */
size_t dwarf_file_split_units(struct dwarf_file *);

#endif
