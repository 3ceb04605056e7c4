/* SPDX-License-Identifier: BSD-3-Clause */
/* What the summary says of the memory that a run had, and of what the kernel did for it. */
#ifndef REUSE_POSTPROC_SUMMARY_MEMORY_H
#define REUSE_POSTPROC_SUMMARY_MEMORY_H

#include "document/document.h"
#include "report/model/model.h"

void summary_add_memory(struct model *, struct document *, struct section *);

#endif
