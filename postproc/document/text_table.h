/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of the document as text, fitted to the page. */
#ifndef REUSE_POSTPROC_TEXT_TABLE_H
#define REUSE_POSTPROC_TEXT_TABLE_H

#include "document/text_page.h"

/* Long names are shortened in the middle and columns that can be spared left out until the rows fit
 * the page; with room for all, or no end to the page, neither. */
void put_table(const struct text_page *, const struct table *);

#endif
