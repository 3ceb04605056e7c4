/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of --traffic: what hardware events counted, beside what is predicted. */
#ifndef REUSE_POSTPROC_SECTION_MEASURED_H
#define REUSE_POSTPROC_SECTION_MEASURED_H

#include "document/document.h"
#include "report/traffic/traffic.h"

/* Cells of a level's row for JSON: bytes, ratio to the prediction, bytes written back, events,
 * verdict. */
void fill_measured(const struct traffic *, struct document *, size_t level, struct cell cells[5]);

/* The same as a table for people; nothing where there is nothing to compare. */
void add_measured_table(struct document *, struct section *, const struct traffic *);

/* What was counted and how, or that nothing was, in a sentence. */
void explain_measured(struct document *, struct section *, const struct traffic *);

#endif
