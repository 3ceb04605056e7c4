/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast groups of loops are expected to be, before anything is known of the time they took: by
 * the clocks of a modelled processor, where the profile has them, else by the lines they touch.
 * docs/estimators.md, section 1.
 */
#ifndef REUSE_ANALYSIS_EXPECTED_RATES_H
#define REUSE_ANALYSIS_EXPECTED_RATES_H

#include "analysis/rates/kernel_time.h"
#include "analysis/rates/line_sources.h"
#include "analysis/rates/rate_fit.h"
#include "profile/reader.h"

/* Fills in expected, in the time of their own code, common_variance and own_variance; share is
 * known. number: the profile's, in the sources of lines. burst_groups: of each burst;
 * progress_groups: of each progress record. demand: of each group. */
void expected_rates(const struct profile *, uint32_t number, const struct program_line_sources *,
                    const uint32_t *burst_groups, const uint32_t *progress_groups,
                    struct rate_evidence *, struct kernel_demand *demand);

#endif
