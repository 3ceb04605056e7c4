/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/loops.h"

#include "signal_safe.h"

void loops_begin(struct loops *loops)
{
    loops->count = 0;
    loops->recent = 0;
}

void loops_visit(struct loops *loops, uint64_t ip)
{
    unsigned i = loops->recent;

    if (i >= loops->count || loops->heads[i].ip != ip)
        for (i = 0; i < loops->count && loops->heads[i].ip != ip;)
            i++;
    if (i == LOOPS_MAX)
        return;
    if (i == loops->count)
        loops->heads[loops->count++] = (struct loop_head){.ip = ip};
    loops->recent = i;
    loops->heads[i].visits++;
}

uint64_t loops_hottest(const struct loops *loops)
{
    struct loop_head hottest = {0};

    for (unsigned i = 0; i < loops->count; i++)
        if (loops->heads[i].visits > hottest.visits)
            hottest = loops->heads[i];
    return hottest.ip;
}
