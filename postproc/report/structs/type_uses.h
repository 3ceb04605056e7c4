/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the program does with the members of its structures: the accesses of a sampled profile, by
 * the type of the data object that they touch and by the member that lies there.
 */
#ifndef REUSE_POSTPROC_TYPE_USES_H
#define REUSE_POSTPROC_TYPE_USES_H

#include "report/model/model.h"
#include "report/structs/struct_order.h"

/* What one thread does with a member. */
struct thread_use {
    uint32_t thread;      /* number in the model's threads */
    double loads, stores; /* accesses */
};

struct member_use {
    double accesses, stores;
    ARRAY(struct thread_use) threads; /* that were seen there */
};

/* An access that was told, and the member that it touched; without padding. */
struct member_observation {
    uint32_t observation, member;
};

struct used_type {
    const char *name; /* "struct cell", "the unnamed structure of cells"; never NULL */
    const char *module;
    struct type_members members;
    struct member_use *uses; /* one per member */
    double accesses;
    double padding;                                /* of them, in no member */
    size_t bursts;                                 /* in which it is used */
    uint32_t last_burst;                           /* the latest of them, while they are counted */
    ARRAY(struct member_observation) observations; /* ascending */
    ARRAY(struct struct_use) together;             /* members that a burst uses, object by object */
    ARRAY(uint32_t) objects; /* that hold such structures, most accesses first */
    struct struct_starts starts;
};

/* Accesses to data of unknown type that a module allocates or has. */
struct untyped_module {
    struct symbol_module *module;
    double accesses;
};

struct type_uses {
    ARRAY(struct used_type) types; /* most accesses first */
    double accesses;               /* of all objects */
    double untyped;                /* of them, to objects whose type is not known */
    ARRAY(struct untyped_module)
    without_debug; /* of them, by modules that have no debug
                      information; most first */
};

/* Of a sampled profile. Structures that lie in others count in both. For type_uses_free(). */
struct type_uses *type_uses_of(struct model *);
void type_uses_free(struct type_uses *);

/* Of bursts that use either member of an object's structures, by accesses, those that use both:
 * 0 .. 1. */
double type_uses_together(const struct used_type *, size_t member, size_t other);

/* The thread that makes nine tenths of the accesses to a member; GROUP_NONE: there is none. */
uint32_t member_use_owner(const struct member_use *);

/* Numbers that --structs shows of each member. */
size_t member_use_readers(const struct member_use *);
size_t member_use_writers(const struct member_use *);

#endif
