/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/slots.h"

#include "signal_safe.h"

void slots_begin(struct slots *slots, unsigned count)
{
    slots->count = count < SLOTS_MAX ? count : SLOTS_MAX;
    slots->busy = 0;
}

unsigned slots_offer(struct slots *slots, struct random *random, bool *evicts)
{
    *evicts = false;
    for (unsigned i = slots->count; i-- > 0;) {
        if (!(slots->busy & (1u << i))) {
            slots->busy |= 1u << i;
            return i;
        }
    }
    *evicts = true;
    /* Most stubborn first, so that each slot keeps its own replacement probability 8^-i; slot 0
     * takes what the others refuse. */
    for (unsigned i = slots->count; i-- > 1;) {
        if (random_below(random, 1u << (3 * (i < 10 ? i : 10))) == 0)
            return i;
    }
    return 0;
}

void slots_release(struct slots *slots, unsigned i)
{
    slots->busy &= ~(1u << i);
}
