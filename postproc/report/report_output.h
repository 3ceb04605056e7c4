/* SPDX-License-Identifier: BSD-3-Clause */
/* What reuse-report says in the end: a document in the form that was asked for, or why there is
 * none. */
#ifndef REUSE_POSTPROC_REPORT_OUTPUT_H
#define REUSE_POSTPROC_REPORT_OUTPUT_H

#include <stddef.h>

#include "document/document.h"
#include "report/model/model.h"
#include "report/options.h"

/* Exit status of the command. */
enum { STATUS_FAILURE = 1, STATUS_USAGE = 2, STATUS_CONDITION = 3 };

/* Says one line; returns STATUS_FAILURE. */
int report_fail(const char *message);

/* Writes what was rendered in one go, so that a failure leaves nothing half-said before it. Returns
 * the command's status. */
int report_write(const struct report_options *, const char *text, size_t size);

/* The document as asked for, written out, likewise. model: NULL where it was made without one. */
int report_put(const struct report_options *, const struct document *, const struct model *);

#endif
