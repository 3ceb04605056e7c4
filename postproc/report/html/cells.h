/* SPDX-License-Identifier: BSD-3-Clause */
/* One value of the document as markup: for people, and with the number of JSON beside it. */
#ifndef REUSE_POSTPROC_HTML_CELLS_H
#define REUSE_POSTPROC_HTML_CELLS_H

#include <stdio.h>

#include "document/document.h"

/* What stands inside an element: the number with its unit, then its interval as a range. unit:
 * whether shares have their percent sign. */
void html_value(const struct cell *, bool unit, FILE *);

/* ` data-v="0.125"`, the number that JSON has to ten digits; nothing for other cells. */
void html_number_attribute(const struct cell *, FILE *);

/* A name. Of a very long one the beginning and the end, and the whole on demand. */
void html_name(const char *name, FILE *);

#endif
