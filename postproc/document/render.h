/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a document in one of its forms. Errors are those of the stream: see ferror(). */
#ifndef REUSE_POSTPROC_RENDER_H
#define REUSE_POSTPROC_RENDER_H

#include <stdio.h>

#include "document/document.h"

/* For people, at most 80 columns, no escape sequences. */
void render_text(const struct document *, FILE *);

/* One object; keys as in reuse-report(1). */
void render_json(const struct document *, FILE *);

/* Tables with a header each, separated by blank lines; every row starts with its table's name. */
void render_csv(const struct document *, FILE *);

#endif
