/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report concludes when no finding is worth a reader's time, and how sure of that it is. */
#ifndef REUSE_POSTPROC_NOTHING_FOUND_H
#define REUSE_POSTPROC_NOTHING_FOUND_H

#include "report/findings/findings.h"

/* time_word: what shares are of. The caller frees it. */
char *nothing_found_text(struct model *, const struct findings *, const char *time_word);

#endif
