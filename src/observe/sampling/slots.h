/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which debug registers take new watches at the end of a burst: a free slot always does; a busy
 * slot of stubbornness i gives way with probability 1, 1/8, 1/64, 1/512 ... so that long reuses
 * survive and no context starves (docs/estimators.md). Decided without a look at the lines, so that
 * an evicted watch is censored at random.
 * Pure policy: knows no registers. Signal-safe. One struct per thread.
 */
#ifndef REUSE_SAMPLING_SLOTS_H
#define REUSE_SAMPLING_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/random.h"

enum { SLOTS_MAX = 16 };

struct slots {
    unsigned count;
    uint32_t busy; /* bit i: slot i holds a watch */
};

void slots_begin(struct slots *, unsigned count);

/* The slots that take a new watch now, a bit for each; never 0 unless there is no slot at all.
 * `busy` must be up to date; it is not changed. */
uint32_t slots_accept(const struct slots *, struct random *);

#endif
