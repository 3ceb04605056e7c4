/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rows of --sector-hints add up to, level by level, in sentences. */
#ifndef REUSE_POSTPROC_SECTOR_CONCLUSION_H
#define REUSE_POSTPROC_SECTOR_CONCLUSION_H

#include "report/sectors/sector_hints.h"

/* Whether a row's verdict could be another one if more were known. */
bool sector_row_is_open(const struct sector_row *);

/*
 * The levels at which nothing is to be gained, those that the profile knows too little of, and what
 * the intervals leave open. NULL: nothing of the kind. The caller frees each.
 */
char *sector_nothing_to_gain(const struct sector_hints *);
char *sector_not_known(const struct sector_hints *, size_t level);
char *sector_left_open(const struct sector_hints *, size_t level);

/* Bursts without calling contexts: regions are functions without what they call. */
char *sector_no_contexts(const struct sector_hints *);

#endif
