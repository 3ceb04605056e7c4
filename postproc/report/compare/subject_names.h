/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of functions, lines and objects that survive an edit and a recompilation. */
#ifndef REUSE_POSTPROC_REPORT_COMPARE_SUBJECT_NAMES_H
#define REUSE_POSTPROC_REPORT_COMPARE_SUBJECT_NAMES_H

#include "report/compare/line_text.h"

/* The caller frees the results. */

/* Without the suffixes of the compiler's copies of a function (.constprop.0, .isra.0, .part.1). */
char *function_subject(const char *function);

/* "function: text of the line"; NULL where the line's file is newer than the program. Where the
 * text is not known for another reason, the function alone. */
char *line_subject(struct line_texts *, const struct code_line *);

/*
 * "heap matrix"; of an allocation that has no variable's name "heap function: text of the line",
 * and of stacks "stack of NAME", of all threads with that name. The kind is the first word.
 */
char *object_subject(struct line_texts *, const struct data_object *);

/* Kind and name of such a subject, as strings of the table. */
void object_subject_parts(const char *subject, struct intern_table *, const char **kind,
                          const char **name);

#endif
