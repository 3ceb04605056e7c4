/* SPDX-License-Identifier: BSD-3-Clause */
/* How the addresses of a place's accesses follow each other, as its bursts saw them: by even steps
 * across lines, or from a loaded address to the next (profile/format_bursts.h, record_steps). */
#ifndef REUSE_POSTPROC_ADDRESS_EVIDENCE_H
#define REUSE_POSTPROC_ADDRESS_EVIDENCE_H

#include "report/findings/finding.h"
#include "report/model/model.h"

/* Of a subset that lists its members, for many runs; the caller frees it. */
struct address_order;
struct address_order *address_order_of(const struct model *, struct subset);
void address_order_free(struct address_order *);

/* Sets far_steps, even_steps, stride_bytes, crowded, chased, traced and computed: 0 where profiles
 * do not tell. run: one of those that resampling bursts makes (analysis_resampled_count()), or
 * ANALYSIS_AS_OBSERVED. */
void address_order_evidence(const struct address_order *, uint32_t run, struct access_evidence *);

#endif
