/* SPDX-License-Identifier: BSD-3-Clause */
/* Which data objects could be isolated: the structures of sector hints. */
#ifndef REUSE_POSTPROC_SECTOR_STRUCTURES_H
#define REUSE_POSTPROC_SECTOR_STRUCTURES_H

#include "report/sectors/sector_hints.h"

/* Makes the objects with most late uses the structures, most first. The model's objects must be
 * labelled. */
void sector_structures_choose(struct sector_hints *);

/* Tells of every observation which structure it is of. */
void sector_structures_label(struct sector_hints *);

/*
 * Of each region, as bits: what it may isolate, the structures that it uses late. Directives in it
 * reach no others, even where isolating those in the whole program would help it.
 */
void sector_structures_of_regions(const struct sector_hints *, uint64_t *eligible);

/* Uses that come late, or for the first time, in an observation of an object. */
double sector_late_uses(const struct model *, size_t observation);

#endif
