/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coherence misses that are modelled: of lines that threads fight over, and of all lines where no
 * register watched other threads' stores. What bursts and watches tell of the curve (analysis.h)
 * does not have them: they come on top of it.
 */
#ifndef REUSE_POSTPROC_COHERENCE_H
#define REUSE_POSTPROC_COHERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/model/model.h"

/* Coherence misses per access in a level of the machine: those that watches tell (struct
 * miss_split), and the modelled ones. False: nothing is modelled. */
bool coherence_of_level(struct model *, size_t level, struct estimate *);

/* Adds them to the points of a curve of everything that was asked about (sizes ascending,
 * from one that keeps no line for long). */
void coherence_add(struct model *, struct curve_point *points, size_t count);

#endif
