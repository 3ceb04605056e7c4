/* SPDX-License-Identifier: BSD-3-Clause */
/* Which data object each observation belongs to, and what the objects are called. */
#ifndef REUSE_POSTPROC_OBJECT_LABELS_H
#define REUSE_POSTPROC_OBJECT_LABELS_H

#include "report/model/model.h"

/* What an observation says about the object that it touched. */
struct object_reference {
    size_t profile;
    uint8_t kind; /* enum object_kind */
    uint32_t id;
    uint64_t address; /* run-time; 0: unknown */
    uint64_t base;    /* of the block; 0: unknown */
    uint64_t size;
    uint64_t monotonic_ns;
};

/* The object that blocks of the heap are, of which nobody knows where they come from. */
#define OBJECT_NAME_UNTRACKED "heap, blocks not tracked"

/*
 * Appends the objects that the references lead to, and labels each reference with the number of its
 * object. References of kind OBJECT_KIND_NONE get GROUP_NONE. offsets, unless NULL, gets where in
 * the object each address lies, OFFSET_UNKNOWN where that is not known.
 */
enum { OBJECT_KIND_NONE = 255 };
#define OFFSET_UNKNOWN UINT64_MAX
void object_labels_find(struct model *, const struct object_reference *, size_t count,
                        data_objects *, uint32_t *labels, uint64_t *offsets);

/* observed_objects.c: fills model->objects and the labels of model->by_object, which the caller
 * allocated. */
void object_labels_assign(struct model *);

#endif
