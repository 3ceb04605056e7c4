/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time that bursts stand for is not all CPU time: a clock that expires while the kernel works
 * for the thread gives no signal, and the next burst stands for its own period alone. What is read
 * from one burst to the next is per ns of all that time. Pure.
 */
#ifndef REUSE_ANALYSIS_SAMPLED_TIME_H
#define REUSE_ANALYSIS_SAMPLED_TIME_H

#include <stddef.h>

#include "analysis/progress_rates.h"

/* Brings readings that cover all of the time to the next burst to accesses per ns of the time that
 * bursts stand for, by the quotient of the two over all such readings of a thread. Out of memory
 * they stay as they are. */
void progress_to_sampled_time(const struct profile *, struct progress_reading *, size_t n);

#endif
