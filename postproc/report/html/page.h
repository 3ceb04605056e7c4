/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A document as one page for a browser: everything in one file, nothing loaded from elsewhere,
 * readable without scripts and on paper. Its tables hold the numbers of the JSON form, its charts
 * are drawn from the parts of that form which it embeds.
 */
#ifndef REUSE_POSTPROC_HTML_PAGE_H
#define REUSE_POSTPROC_HTML_PAGE_H

#include <stdio.h>

#include "document/document.h"
#include "report/options.h"

struct model;

/* model: of the document, NULL for a document that has none. Writes a line to stderr where a chart
 * library is not installed; the page then has tables only. */
void render_html(const struct document *, const struct report_options *, const struct model *,
                 FILE *);

#endif
