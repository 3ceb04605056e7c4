/* SPDX-License-Identifier: BSD-3-Clause */
/* One finding in words: what is wrong, what curing it is worth, and where it is. */
#ifndef REUSE_POSTPROC_FINDING_TEXT_H
#define REUSE_POSTPROC_FINDING_TEXT_H

#include "report/findings/findings.h"

/* Both the time that it may cost and the pattern are certain. */
bool finding_is_certain(const struct finding *);

/*
 * "Pointer chasing (nodes anywhere in memory): worth at most 9 % of the CPU time; 3 to 6 % is
 * expected." time_word: what shares are of. The caller frees it.
 */
char *finding_title_text(const struct finding *, const char *time_word);

/* The same of what is hardly known: "Too few samples to name a problem. The likeliest: ..."; the
 * caller frees it. another: there is one that is certain. */
char *finding_candidate_text(const struct finding *, bool another, const char *time_word);

/* "a.c:17 or 21 in f, on x (heap, 32 MiB)": its lines by function, most time first, those of shared
 * libraries last; the caller frees it. */
char *finding_where_text(struct model *, const struct finding *);

/* "Pointer chasing (nodes anywhere in memory)"; NULL: no pattern that is a finding. */
const char *finding_pattern_text(enum pattern);

/* "40 to 72 %"; the caller frees it. */
char *finding_share_text(struct estimate share);

#endif
