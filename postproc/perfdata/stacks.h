/* SPDX-License-Identifier: BSD-3-Clause */
/* From recorded stacks to calling contexts: equal ones, line by line, have one number. */
#ifndef REUSE_POSTPROC_STACKS_H
#define REUSE_POSTPROC_STACKS_H

#include "perfdata/loaded_files.h"

/* A calling context in source, innermost first; at least one place. */
struct stack_context {
    struct code_place *places;
    size_t count;
};

struct stacks {
    uint32_t *context; /* of each of the recording's samples; UINT32_MAX: its stack is not known */
    ARRAY(struct stack_context) contexts;
    uint64_t without; /* samples whose stack is not known */
    bool foreign;     /* their registers cannot be unwound by this build or on this machine */
};

struct stacks *stacks_create(const struct recording *, struct loaded_files *);
void stacks_free(struct stacks *);

#endif
