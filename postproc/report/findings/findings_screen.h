/* SPDX-License-Identifier: BSD-3-Clause */
/* The first screen: findings before anything else, in at most 24 lines of 80 columns; with -v
 * all of them. */
#ifndef REUSE_POSTPROC_FINDINGS_SCREEN_H
#define REUSE_POSTPROC_FINDINGS_SCREEN_H

#include "report/findings/findings.h"
#include "report/findings/paragraph.h"

/* time_word: what shares are of. conclusion: what is said where nothing was found, else NULL. */
void findings_screen_put(struct model *, const struct findings *, const char *time_word,
                         const char *conclusion, struct paragraph *screen);

#endif
