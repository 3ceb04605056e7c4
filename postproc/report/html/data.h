/* SPDX-License-Identifier: BSD-3-Clause */
/* What the page's scripts draw from: parts of the JSON form of the document, inert in the page. */
#ifndef REUSE_POSTPROC_HTML_DATA_H
#define REUSE_POSTPROC_HTML_DATA_H

#include <stdio.h>

#include "document/document.h"

struct model;

/* Two elements: #report, of the document, and #machines, the caches to mark. model may be NULL. */
void html_data(const struct document *, const struct model *, FILE *);

#endif
