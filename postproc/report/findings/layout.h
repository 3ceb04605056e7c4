/* SPDX-License-Identifier: BSD-3-Clause */
/* How the places that instructions touch lie in their objects: structures of which few bytes are
 * used. */
#ifndef REUSE_POSTPROC_LAYOUT_H
#define REUSE_POSTPROC_LAYOUT_H

#include "report/findings/finding.h"
#include "report/model/model.h"

/*
 * Sets element_bytes and element_used. Each group of probes tells one place, drawn at random: the
 * greatest common divisor of their distances is the size of an element, or a multiple of it with a
 * probability that halves with each place. Left 0 with too few places.
 */
void layout_of_accesses(const struct model *, struct subset, struct access_evidence *);

#endif
