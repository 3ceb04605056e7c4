/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in their structure the members lie that share cache lines, for the ruler of the page. */
#ifndef REUSE_POSTPROC_HTML_LAYOUTS_H
#define REUSE_POSTPROC_HTML_LAYOUTS_H

#include <stdbool.h>
#include <stdio.h>

#include "document/document.h"

/* Whether the document knows such members. */
bool html_layouts_known(const struct document *);

/* A table of them, from which the ruler is drawn. */
void html_layouts(const struct document *, FILE *);

#endif
