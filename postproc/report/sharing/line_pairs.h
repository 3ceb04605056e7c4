/* SPDX-License-Identifier: BSD-3-Clause */
/* From line of source to line of source: who had the data last, and who comes for it. */
#ifndef REUSE_POSTPROC_SHARING_LINE_PAIRS_H
#define REUSE_POSTPROC_SHARING_LINE_PAIRS_H

#include "document/document.h"
#include "report/model/communication_view.h"

/* Adds a table of pairs of lines and the object that moves between them, most transfers first.
 * Code and objects must have been labelled. */
void add_line_pairs(struct model *, struct communication_view *, struct document *,
                    struct section *);

#endif
