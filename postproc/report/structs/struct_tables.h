/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of a structure's members. */
#ifndef REUSE_POSTPROC_STRUCT_TABLES_H
#define REUSE_POSTPROC_STRUCT_TABLES_H

#include "document/document.h"
#include "report/structs/struct_advice.h"

/* A type with what is said of it. */
struct shown_type {
    const struct used_type *used;
    struct struct_advice advice;
    struct estimate accesses, misses; /* shares of all */
    struct estimate *member_misses;   /* shares of all */
};

/* Bytes of holes in all; of a union it means nothing. */
uint64_t struct_padding(const struct type_members *);

/* Members with holes and line ends, for people; title NULL: members alone, for JSON. */
struct table *struct_member_table(const struct shown_type *, struct document *, const char *title,
                                  const char *basis);

/* Pairs of members that bursts use together. */
struct table *struct_pair_table(const struct used_type *, struct document *);

#endif
