/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a section as markup that needs no script: facts, tables, grids, paragraphs. */
#ifndef REUSE_POSTPROC_HTML_BLOCKS_H
#define REUSE_POSTPROC_HTML_BLOCKS_H

#include <stdio.h>

#include "document/document.h"
#include "report/html/line_notes.h"

/* Nothing for what text does not show either. notes: lines of the page that a table of lines can
 * lead to; NULL: none. */
void html_block(const struct block *, const struct line_notes *notes, FILE *);

/* Whether html_block() writes anything. */
bool html_block_is_shown(const struct block *);

/* All facts of a section with a label, as one list. */
void html_facts(const struct section *, FILE *);

#endif
