/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What part of the time each burst stands for. Ticks between bursts say better than the few bursts
 * how the time is divided among the code: that of a tick goes to the bursts that executed the code
 * there (post-stratification: Holt and Smith, JRSS A 142, 1979). docs/estimators.md, section 2.
 */
#ifndef REUSE_ANALYSIS_BURST_TIMES_H
#define REUSE_ANALYSIS_BURST_TIMES_H

#include "analysis/rates/burst_code.h"
#include "profile/reader.h"

/* Expiries of the thread's clock for each of its bursts, at least 1. Those that gave no burst still
 * stand for the program's time; so do those in our wrappers of malloc and its kin: rates are
 * accesses per time that includes them. */
double burst_expiries(const struct profile *, uint32_t thread_id);

/* times[i]: of profile->bursts.items[i], ns; their sum is that of the weights. */
void burst_times(const struct profile *, const struct burst_code *, double *times);

#endif
