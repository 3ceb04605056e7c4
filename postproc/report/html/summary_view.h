/* SPDX-License-Identifier: BSD-3-Clause */
/* The first screen of the page: what was run, what to do, and the figures that matter most. */
#ifndef REUSE_POSTPROC_HTML_SUMMARY_VIEW_H
#define REUSE_POSTPROC_HTML_SUMMARY_VIEW_H

#include <stdio.h>

#include "document/document.h"

/* The path of the program; NULL: the document has none. */
const char *summary_program(const struct document *);

/* Program, command, and how the run was measured in a line. */
void html_summary_head(const struct document *, FILE *);

/* The findings, and a tile for each cache level. */
void html_summary_findings(const struct document *, FILE *);

#endif
