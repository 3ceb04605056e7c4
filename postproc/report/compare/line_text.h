/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of source lines, by which a line is found again after an edit and a recompilation. Only
 * files that are older than the program's file tell what was compiled.
 */
#ifndef REUSE_POSTPROC_REPORT_COMPARE_LINE_TEXT_H
#define REUSE_POSTPROC_REPORT_COMPARE_LINE_TEXT_H

#include "report/model/model.h"

struct line_texts;

/* The model must outlive it. */
struct line_texts *line_texts_create(struct model *);
void line_texts_free(struct line_texts *);

enum line_trust {
    LINE_TEXT_KNOWN,
    LINE_TEXT_NEWER,   /* the source file was changed after the program was built */
    LINE_TEXT_MISSING, /* no debug information, or the file cannot be read */
};

/*
 * The code of a line: without comments, each run of blanks as one; what stands in literals is
 * blank. *text lives as long as the model's strings; "" where it is not known.
 */
enum line_trust line_text(struct line_texts *, const char *file, uint32_t line, const char *module,
                          const char **text);

/* The first file that was found to be newer than its program; NULL: none. */
const char *line_texts_newer(const struct line_texts *);

#endif
