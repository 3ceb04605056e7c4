/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the CPU time goes, by function of the program, when it is not memory that takes it. */
#ifndef REUSE_POSTPROC_HOT_CODE_H
#define REUSE_POSTPROC_HOT_CODE_H

#include "report/findings/findings.h"

/* Fills in findings->hot and what belongs to it. */
void hot_code_find(struct model *, struct findings *);

/* " Most of the time, 60 to 72 %, is spent in f, near a.c:7.", or "The most, 2 to 30 %" where it
 * may be less than half; empty: not known. The caller frees it. */
char *hot_code_text(struct model *, const struct findings *);

#endif
