/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/slots.h"

#include "signal_safe.h"

void slots_begin(struct slots *slots, unsigned count)
{
    slots->count = count < SLOTS_MAX ? count : SLOTS_MAX;
    slots->busy = 0;
}

uint32_t slots_accept(const struct slots *slots, struct random *random)
{
    uint32_t accepted = 0;

    for (unsigned i = 0; i < slots->count; i++)
        if (!(slots->busy & (1u << i)) || random_below(random, 1u << (3 * (i < 10 ? i : 10))) == 0)
            accepted |= 1u << i;
    return accepted;
}
