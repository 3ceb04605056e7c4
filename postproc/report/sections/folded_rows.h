/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that a reader of text is spared: what tells nothing, and what is not the program's. */
#ifndef REUSE_POSTPROC_FOLDED_ROWS_H
#define REUSE_POSTPROC_FOLDED_ROWS_H

#include "document/document.h"
#include "report/model/model.h"

/* What was left out of a table. */
struct folded_rows {
    size_t unsure, background;
    size_t beneath; /* those below the ranking */
};

/* Whether to leave a row out, and counts it. The first row of a ranking always stays, so do all in
 * JSON and CSV and with -v. */
bool fold_object(struct model *, size_t rank, uint32_t object, struct folded_rows *);
/* time: its share of the CPU time; all 0: not known. */
bool fold_line(struct model *, size_t rank, uint32_t line, struct estimate time,
               struct folded_rows *);

/* Whether to leave out a structure that is declared in this file (NULL: not known). */
bool fold_structure(const struct model *, const char *file);

/* Of a row with few bursts: its share of the accesses may be next to nothing or more than twice as
 * much, and it is not known to take much of the CPU time. */
bool row_says_nothing(struct estimate accesses, struct estimate time);

/* "Not shown: 3 objects with too few samples to tell (-v), 2 of the allocator and the loader (-v),
 * 40 with fewer misses (--top)."; NULL: none was left out. what: "object". The caller frees it. */
char *folded_text(const struct folded_rows *, const char *what);

#endif
