/* SPDX-License-Identifier: BSD-3-Clause */
/* See word_rates.c. */
#ifndef REUSE_ANALYSIS_WORD_RATES_H
#define REUSE_ANALYSIS_WORD_RATES_H

#include "analysis/rates/progress_observations.h"

/* Adds the equations of the words, and of what the kernel counts, among n observations, which are
 * put into another order. The evidence has room for n equations and n terms. */
void word_rates(struct observation *, size_t n, struct rate_evidence *);

#endif
