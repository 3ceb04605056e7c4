/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tables of a document say about source lines, by file and line. */
#ifndef REUSE_POSTPROC_HTML_LINE_NOTES_H
#define REUSE_POSTPROC_HTML_LINE_NOTES_H

#include "document/document.h"
#include "support/memory.h"

/* Another line that has to do with this one. */
struct line_link {
    const char *file, *function; /* NULL: unknown */
    uint32_t line;               /* 0: unknown */
    double amount;               /* part of the reuses, or transfers */
    const char *object;          /* NULL: unknown */
};

enum link_kind {
    LINK_LAST,     /* where the data was used last */
    LINK_NEXT,     /* where it is used next */
    LINK_SENDS,    /* the line of another thread that takes the data */
    LINK_RECEIVES, /* the line of another thread that had it */
    LINK_KINDS
};

struct line_note {
    uint32_t line;
    const struct table *lines; /* where the line has a row; NULL: it is only linked to */
    size_t row;
    double transfers; /* lines that were moved, at either end */
    ARRAY(struct line_link) links[LINK_KINDS];
};

struct file_notes {
    const char *path;
    double heat;   /* what its lines have of all misses, or of the accesses: see line_note_heat() */
    bool accesses; /* heat is of the accesses, at least in part */
    ARRAY(struct line_note) lines; /* ascending */
};

struct line_notes {
    ARRAY(struct file_notes) files; /* hottest first */
    double transfers;               /* most of a line */
};

/* Strings and tables are the document's. */
void line_notes_collect(const struct document *, struct line_notes *out);
void line_notes_free(struct line_notes *);

/* NULL: nothing is known of it. */
const struct line_note *line_notes_find(const struct line_notes *, const char *file, uint32_t line,
                                        size_t *file_number);

/* Part of all misses at the second level, or the first if there is no other; of the accesses where
 * that is not known. */
double line_note_heat(const struct line_note *);

/* Part of all misses of a level (0: the first) that the line makes; negative: not known. */
double line_note_misses(const struct line_note *, size_t level);
size_t line_note_levels(const struct line_notes *);

#endif
