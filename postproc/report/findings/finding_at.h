/* SPDX-License-Identifier: BSD-3-Clause */
/* The finding that other sections' advice must not contradict: of the same line or object. */
#ifndef REUSE_POSTPROC_FINDING_AT_H
#define REUSE_POSTPROC_FINDING_AT_H

#include "report/findings/findings.h"

/*
 * Of findings on locality that the first screen tells: the one of this line and object, else of the
 * line, else of the object. object: its name; NULL: not known. NULL: there is none.
 */
const struct finding *finding_at(const struct findings *, const struct code_line *line,
                                 const char *object);

/* "see the findings, conflict misses (lines crowd in a few sets of the cache): let steps through
 * ..."; for another line that uses its object, where it is; or that too little is known to advise a
 * change. The caller frees it. */
char *finding_reference_text(struct model *, const struct findings *, const struct finding *,
                             const struct code_line *line);

#endif
