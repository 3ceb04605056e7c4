/* SPDX-License-Identifier: BSD-3-Clause */
/* What the page needs of a document by the names that JSON gives it. */
#ifndef REUSE_POSTPROC_HTML_LOOKUP_H
#define REUSE_POSTPROC_HTML_LOOKUP_H

#include "document/document.h"

/* NULL: the document has no such table, or fact. */
const struct table *lookup_table(const struct document *, const char *key);
const struct fact *lookup_fact(const struct document *, const char *key);

/* The cell of a row in the column of that key; an empty cell if there is no such column. */
const struct cell *lookup_cell(const struct table *, size_t row, const char *key);

/* Its text, NULL if it has none, and its number, `otherwise` if it has none. */
const char *lookup_text(const struct table *, size_t row, const char *key);
double lookup_number(const struct table *, size_t row, const char *key, double otherwise);

/* Whether the cell holds a number. */
bool cell_is_number(const struct cell *);

#endif
