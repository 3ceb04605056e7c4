/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a document in one of its forms. Errors are those of the stream: see ferror(). */
#ifndef REUSE_POSTPROC_RENDER_H
#define REUSE_POSTPROC_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "document/document.h"

/* How narrow a page of text may be. */
enum { PAGE_WIDTH_MIN = 80 };

struct text_style {
    size_t width; /* columns, PAGE_WIDTH_MIN or more; 0: nothing is shortened or left out */
    bool colour;  /* escape sequences of ECMA-48; without them the text is the same */
};

/* For people. Sentences are filled to 80 columns, tables take the width of the page. */
void render_text(const struct document *, struct text_style, FILE *);

/* One object; keys as in reuse-report(1). */
void render_json(const struct document *, FILE *);

/* Tables with a header each, separated by blank lines; every row starts with its table's name. */
void render_csv(const struct document *, FILE *);

#endif
