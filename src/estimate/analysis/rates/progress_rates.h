/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the variables of a profile's bursts (struct record_progress) say of access rates. Pure.
 * docs/estimators.md, section 1.
 *
 * A variable's progress per access comes from all bursts of a group of loops: bursts begin at
 * random times, so they see short and long visits, fast and slow passages, as often as there are
 * such. Its progress in the short time between a look and the burst after it is so many accesses of
 * that group: a reading. The progress of a word that never goes back is known over the whole time
 * between bursts: an equation, in which each group has the share of the time that its bursts have.
 */
#ifndef REUSE_ANALYSIS_PROGRESS_RATES_H
#define REUSE_ANALYSIS_PROGRESS_RATES_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/rates/rate_fit.h"
#include "profile/reader.h"

/* Accesses that no processor exceeds in a ns: six in each cycle at 5 GHz. */
#define FASTEST_RATE 30.0
/* And what no code falls below for long: each access waits 10 us. */
#define SLOWEST_RATE 1e-4
/* The variables of all bursts, by group. groups[i]: of the record i of profile->progress. Fills in
 * the evidence's lists, which the caller frees, with room for one more reading of each group; the
 * number of groups is set. */
void progress_rates(const struct profile *, const uint32_t *groups, struct rate_evidence *);

#endif
