/* SPDX-License-Identifier: BSD-3-Clause */
/* What was not seen of the sharing between threads, and what would show it. Belongs beside whatever
 * was found: threads may cost each other more than all of it. */
#ifndef REUSE_POSTPROC_UNSEEN_SHARING_H
#define REUSE_POSTPROC_UNSEEN_SHARING_H

#include "report/findings/findings.h"

/* NULL: nothing is to be said. The caller frees it. */
char *unseen_sharing_text(const struct findings *);

#endif
