/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings in code without debug information: how to get names and lines for it. */
#ifndef REUSE_POSTPROC_NAMELESS_CODE_H
#define REUSE_POSTPROC_NAMELESS_CODE_H

#include "report/findings/findings.h"

/* One sentence on the first of `count` findings whose place is known by its offset, or by its
 * function, only; NULL: none is. The caller frees it. */
char *nameless_code_text(struct model *, const struct finding *const *findings, size_t count);

#endif
