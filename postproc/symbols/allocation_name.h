/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a heap object is called: the variable that the allocation is assigned to, read from the
 * source line of the allocating call and checked against the debug information. Wrappers (operator
 * new, std::allocator, xmalloc and its like) are looked through. When in doubt there is no name.
 */
#ifndef REUSE_POSTPROC_ALLOCATION_NAME_H
#define REUSE_POSTPROC_ALLOCATION_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

/* One frame of an allocation context. */
struct context_frame {
    struct symbol_module *module; /* NULL: unknown */
    uint64_t address;             /* link-time, inside the call instruction */
    struct source_frame source;
};

struct allocation_name {
    const char *name;         /* NULL: none that is certain; lives as long as the strings */
    struct data_type type;    /* what the block consists of; no module: not known */
    size_t frame;             /* index of the frame that the object is placed at */
    size_t site, sites;       /* nameless: its number among the places of the frame's line that
                                 allocate, and how many there are; 0: not known */
    const char *newer_source; /* a source file not trusted because it is newer than its module */
};

struct allocation_namer;

struct allocation_namer *allocation_namer_create(const struct file_search *,
                                                 struct intern_table *strings);
void allocation_namer_free(struct allocation_namer *);

/* frames[0] is the caller of the allocator `callee` (malloc, calloc ...); n >= 1. */
void allocation_name_find(struct allocation_namer *, const struct context_frame *frames, size_t n,
                          const char *callee, struct allocation_name *out);

#endif
