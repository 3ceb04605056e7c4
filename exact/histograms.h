/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts as RECORD_HISTOGRAM. */
#ifndef REUSE_EXACT_HISTOGRAMS_H
#define REUSE_EXACT_HISTOGRAMS_H

#include <stdint.h>

#include "locality.h"
#include "profile/writer.h"

/* A count by the bins of reuse/exact_counts.h, as a profile holds it. */
struct histogram_bin histograms_bin(uint32_t exact_bin, uint64_t count);

/* Stack distances and reuse times at each line size, of a scope that has one key. */
void histograms_write(struct profile_writer *, enum histogram_scope, uint64_t key,
                      const struct locality_histograms *, uint64_t now_ns);

/* The same at the first line size alone. */
void histograms_write_first(struct profile_writer *, enum histogram_scope, uint64_t key,
                            const struct locality_histograms *, uint64_t now_ns);

/* Stack distances of every instruction (SCOPE_LINE), every object (SCOPE_OBJECT) or every region
 * (SCOPE_REGION); of the former two also those in each region. */
void histograms_write_by(struct profile_writer *, enum histogram_scope, const struct exact_counts *,
                         uint64_t now_ns);

#endif
