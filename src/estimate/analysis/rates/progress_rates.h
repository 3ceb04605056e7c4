/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access rates from variables that move on (struct record_progress). Pure. docs/estimators.md,
 * section 1.
 *
 * All bursts of a variable together tell its progress per access, a ratio of sums: bursts begin at
 * random times, so they see short and long visits, fast and slow passages, as often as there are
 * such. Its progress in the time after a burst is so many accesses. A burst may have several
 * variables; they make one reading.
 */
#ifndef REUSE_ANALYSIS_PROGRESS_RATES_H
#define REUSE_ANALYSIS_PROGRESS_RATES_H

#include <stddef.h>
#include <stdint.h>

#include "profile/reader.h"

struct progress_reading {
    uint64_t loop;
    double per_ns, elapsed_ns;
    double deviation; /* standard error of ln(progress per access), which readings share */
};

/* Readings of a profile, in *out, at most one for each of its bursts; the caller frees it. Returns
 * their number; -1: out of memory. */
long progress_rates(const struct profile *, struct progress_reading **out);

#endif
