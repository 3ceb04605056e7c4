/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names for what a recording's accesses touch and where they are made: variables, the heap, stacks
 * and mappings; source lines and functions.
 */
#ifndef REUSE_POSTPROC_PLACES_H
#define REUSE_POSTPROC_PLACES_H

#include <stdint.h>

#include "perfdata/loaded_files.h"

enum place_kind {
    PLACE_VARIABLE,
    PLACE_HEAP,
    PLACE_STACK,
    PLACE_FILE,
    PLACE_ANONYMOUS,
    PLACE_UNKNOWN
};

/* What an address belongs to. Texts are shared: equal ones have one address. */
struct data_place {
    enum place_kind kind;
    const char *name;   /* variable, "[heap]", "[stack]", path of a mapped file, ... */
    const char *module; /* of a variable; else NULL */
    uint64_t offset;    /* within the variable or mapping */
};

/* Parallel to recording->accesses. */
struct places {
    struct data_place *data;
    struct code_place *code;
};

/* Names all accesses. Files, strings and recording must outlive the result. */
struct places *places_create(const struct recording *, struct loaded_files *,
                             struct intern_table *strings);
void places_free(struct places *);

/* "variable", "heap" ... */
const char *place_kind_name(enum place_kind);

#endif
