/* SPDX-License-Identifier: BSD-3-Clause */
/* Text filled to lines of a page, of which the writer knows how many there are. */
#ifndef REUSE_POSTPROC_PARAGRAPH_H
#define REUSE_POSTPROC_PARAGRAPH_H

#include <stddef.h>

enum { PARAGRAPH_WIDTH = 80 };

struct paragraph {
    char *text; /* owned; NULL: empty */
    size_t lines;
};

/* Adds text, whose first line is indented by `first`, the others by `rest`. */
void paragraph_add(struct paragraph *, size_t first, size_t rest, const char *text);
void paragraph_append(struct paragraph *, const struct paragraph *);
void paragraph_free(struct paragraph *);

#endif
