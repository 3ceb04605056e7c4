/* SPDX-License-Identifier: BSD-3-Clause */
/* The annotated source: each file with what was measured beside its lines. */
#ifndef REUSE_POSTPROC_HTML_SOURCE_VIEW_H
#define REUSE_POSTPROC_HTML_SOURCE_VIEW_H

#include <stdio.h>

#include "report/html/line_notes.h"

struct model;

struct source_options {
    const char *sysroot;       /* before every path; "" none */
    bool text;                 /* false: without the sources themselves */
    const struct model *model; /* tells when a binary was made; NULL: not known */
    const struct document *document;
};

/* All files, and the list of them. */
void html_source_view(const struct line_notes *, const struct source_options *, FILE *);

/* Why the text of a file cannot be shown, and the text itself where it can; the caller frees
 * both. */
char *source_view_read(const char *path, const struct source_options *, char **gap);

#endif
