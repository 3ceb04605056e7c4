/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that name data objects share: the objects so far, and what waits for a name. */
#ifndef REUSE_POSTPROC_OBJECT_LABELS_INTERNAL_H
#define REUSE_POSTPROC_OBJECT_LABELS_INTERNAL_H

#include "report/model/object_labels.h"

/* An observation of a global, waiting for the symbol of its address. */
struct pending_global {
    struct symbol_module *module;
    uint64_t address; /* link-time */
    size_t observation;
};

struct labelling {
    struct model *model;
    data_objects *objects;
    uint32_t *labels;
    uint64_t *offsets;          /* or NULL */
    struct intern_table *keys;  /* struct object_key -> number of the object */
    struct intern_table *sites; /* (profile, site) -> number in site_objects */
    ARRAY(uint32_t) site_objects;
    ARRAY(struct pending_global) globals;
    struct intern_table *newer_sources;
};

/*
 * The number of the object; it is appended when there is none of its name, kind and place yet.
 * distinction: what else tells it from others.
 */
uint32_t object_labels_intern(struct labelling *, const struct data_object *, uint64_t distinction);

/* object_labels_sites.c: the object that the blocks of an allocation site are. */
uint32_t object_labels_site(struct labelling *, const struct object_reference *);

/* object_labels_globals.c: labels the observations of globals that wait for their symbols. */
void object_labels_globals(struct labelling *);

#endif
