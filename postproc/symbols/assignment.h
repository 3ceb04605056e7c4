/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads from source text what the result of an allocating call is assigned to. A reader of
 * statements, not a compiler: whatever it does not recognise for certain, it does not name.
 */
#ifndef REUSE_POSTPROC_ASSIGNMENT_H
#define REUSE_POSTPROC_ASSIGNMENT_H

#include <stdint.h>

#include "symbols/source_text.h"

enum assignment_kind {
    ASSIGNMENT_UNKNOWN,  /* not recognised, or more than one possibility */
    ASSIGNMENT_NAMED,    /* name and declared are filled */
    ASSIGNMENT_RETURNED, /* the result is returned: the caller's statement has the name */
};

struct assignment {
    enum assignment_kind kind;
    char *name;     /* as written, without blanks: m, p->field, rows[i], v */
    char *declared; /* the identifier to verify: m, field, rows, v */
    bool member;    /* declared comes after . or -> */
    char *created;  /* the class in new T, without its scope; NULL: none, or a template's */
};

/*
 * The call of `callee` (unqualified: malloc, xmalloc, new, resize, vector) at line (1..) and column
 * (1.., 0 unknown). Release with assignment_free().
 */
void assignment_find(const struct source_text *, uint32_t line, uint32_t column, const char *callee,
                     struct assignment *out);

/* How many calls of callee, or of the C library's functions that allocate, stand on line (1..). */
size_t assignment_count_calls(const struct source_text *, uint32_t line, const char *callee);

/*
 * The array that Fortran's allocate statement at line (1..) and column (1.., 0 unknown) allocates
 * by its call number `site` of `sites`, in order of addresses. One call for each array: with other
 * numbers only the array of a statement that has just one is certain.
 */
void assignment_find_allocate(const struct source_text *, uint32_t line, uint32_t column,
                              size_t site, size_t sites, struct assignment *out);

void assignment_free(struct assignment *);

#endif
