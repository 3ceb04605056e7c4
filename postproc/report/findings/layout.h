/* SPDX-License-Identifier: BSD-3-Clause */
/* How the places that instructions touch lie in their objects: structures of which few bytes are
 * used. */
#ifndef REUSE_POSTPROC_LAYOUT_H
#define REUSE_POSTPROC_LAYOUT_H

#include "report/findings/finding.h"
#include "report/model/model.h"

/* The places of what a loop does with an object (loop_accesses.h), side by side, for many runs; the
 * caller frees them. */
struct element_places;
struct element_places *element_places_of(const struct model *, struct subset);
void element_places_free(struct element_places *);

/*
 * Sets element_bytes and element_used, by places and by the steps that address_order_evidence() has
 * set. Each group of probes tells one place, drawn at random: the greatest common divisor of their
 * distances is the size of an element, or a multiple of it with a probability that halves with each
 * place; or of as many as a turn of an unrolled loop goes over, which use the same places of
 * each. 0 with too few places, unless steps are even and shorter than 512 bytes. run: one of those
 * that resampling bursts makes (analysis_resampled_count()), or ANALYSIS_AS_OBSERVED.
 */
void layout_of_accesses(const struct element_places *, uint32_t run, struct access_evidence *);

#endif
