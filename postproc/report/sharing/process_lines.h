/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines that processes share: file and offset, who stores and reads, true or false. */
#ifndef REUSE_POSTPROC_SHARING_PROCESS_LINES_H
#define REUSE_POSTPROC_SHARING_PROCESS_LINES_H

#include "document/document.h"
#include "report/model/communication_view.h"

/* Adds a table, unless the profile is of one process. Objects must have been labelled. */
void add_process_lines(struct model *, struct communication_view *, struct document *,
                       struct section *);

#endif
