/* SPDX-License-Identifier: BSD-3-Clause */
/* What to do with a structure, in words. */
#ifndef REUSE_POSTPROC_STRUCT_ADVICE_H
#define REUSE_POSTPROC_STRUCT_ADVICE_H

#include "report/structs/type_uses.h"

enum struct_advice_kind {
    STRUCT_REORDER,
    STRUCT_GOOD,    /* no order is better */
    STRUCT_UNKNOWN, /* too few bursts */
    STRUCT_FIXED,   /* it cannot, or should not, be reordered: the text says why */
};

struct struct_advice {
    enum struct_advice_kind kind;
    struct struct_order order; /* offsets mean something with STRUCT_REORDER alone */
    char *text;
};

struct struct_advice struct_advice_of(const struct model *, const struct used_type *);
void struct_advice_free(struct struct_advice *);

/* "reorder", "good" ... as JSON has it. */
const char *struct_advice_name(enum struct_advice_kind);

#endif
