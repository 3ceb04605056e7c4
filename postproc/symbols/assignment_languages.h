/* SPDX-License-Identifier: BSD-3-Clause */
/* Assignments in other languages than C and C++: parts of assignment_find(). Pure. */
#ifndef REUSE_POSTPROC_ASSIGNMENT_LANGUAGES_H
#define REUSE_POSTPROC_ASSIGNMENT_LANGUAGES_H

#include <stdbool.h>

#include "symbols/assignment.h"

/* What the expression at the position (in the source's code) is bound to: let name = ..., a field
 * in Type { field: ... }, or self.field = .... False: none, and *out is as it was. */
bool assignment_find_rust(const struct source_text *, size_t position, struct assignment *out);

#endif
