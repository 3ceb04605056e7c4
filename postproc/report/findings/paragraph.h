/* SPDX-License-Identifier: BSD-3-Clause */
/* Text filled to lines of a page, of which the writer knows how many there are. */
#ifndef REUSE_POSTPROC_PARAGRAPH_H
#define REUSE_POSTPROC_PARAGRAPH_H

#include <stddef.h>

#include "document/document.h"

enum { PARAGRAPH_WIDTH = 80 };

struct paragraph {
    char *text; /* owned; NULL: empty */
    size_t lines;
    ARRAY(enum tone) tones; /* of each line */
};

/* Adds text, whose first line is indented by `first`, the others by `rest`. A word, or a command
 * "reuse-run ... PROGRAM", that is longer than a line has one of its own: it is never cut. */
void paragraph_add(struct paragraph *, size_t first, size_t rest, const char *text);
/* The same in another tone than the plain one. */
void paragraph_add_toned(struct paragraph *, size_t first, size_t rest, const char *text,
                         enum tone);
void paragraph_append(struct paragraph *, const struct paragraph *);
void paragraph_free(struct paragraph *);

#endif
