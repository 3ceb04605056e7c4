/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest change that parts what shares a line falsely, for lines of a given size. */
#ifndef REUSE_POSTPROC_PARTING_H
#define REUSE_POSTPROC_PARTING_H

#include "report/sharing/false_sharing.h"

struct parting {
    uint64_t padding;  /* bytes, in each structure or element; of two objects: between them */
    uint64_t new_size; /* of the structure or element; 0: it does not apply */
};

struct parting parting_for(const struct false_sharing *, uint32_t line_size);

/*
 * The change as a sentence or two for a programmer; the caller frees it. objects: those of the view
 * that the finding comes from.
 */
char *parting_text(const struct false_sharing *, const data_objects *objects, uint32_t line_size);

/* How the gain can be timed before anything is edited, with a blank before it: the options of
 * reuse-run, or that the source must change first. The caller's. */
char *parting_trial(const struct false_sharing *, const data_objects *objects, uint32_t line_size);

#endif
