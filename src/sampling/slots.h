/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which sample gets which debug register. Every sample that wants one is offered to the slots:
 * a free slot is always taken; a busy slot of stubbornness i is replaced with probability
 * 1, 1/8, 1/64, 1/512 ... so that long reuses survive and no context starves (docs/estimators.md).
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

/*
 * Chooses a slot for a new sample. Returns its index; *evicts tells whether a running watch loses
 * it. Free slots are taken most stubborn first. With count >= 1 no sample is refused.
 */
unsigned slots_offer(struct slots *, struct random *, bool *evicts);

/* The watch in slot i ended. */
void slots_release(struct slots *, unsigned i);

#endif
