/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/loops.h"

#include <stddef.h>
#include <string.h>

#include "signal_safe.h"

void loops_begin(struct loops *loops)
{
    loops->count = 0;
    loops->recent = 0;
}

static struct loop_head *find(struct loops *loops, uint64_t ip, uint64_t stack_pointer)
{
    if (loops->recent < loops->count) {
        struct loop_head *head = &loops->heads[loops->recent];

        if (head->ip == ip && head->stack_pointer == stack_pointer)
            return head;
    }
    for (unsigned i = 0; i < loops->count; i++) {
        struct loop_head *head = &loops->heads[i];

        if (head->ip == ip && head->stack_pointer == stack_pointer) {
            loops->recent = i;
            return head;
        }
    }
    return NULL;
}

void loops_visit(struct loops *loops, uint64_t ip, const uint64_t registers[LOOP_REGISTERS],
                 uint32_t unknown, uint64_t accesses)
{
    struct loop_head *head = find(loops, ip, registers[LOOP_STACK_POINTER]);

    if (!head) {
        /* A full table keeps the loops it has: the first seen are the innermost running ones, and
         * their outer loops come within a few of their trips. */
        if (loops->count == LOOPS_MAX)
            return;
        loops->recent = loops->count;
        head = &loops->heads[loops->count++];
        head->ip = ip;
        head->stack_pointer = registers[LOOP_STACK_POINTER];
        head->visits = 1;
        head->steady = 0xffffu & ~(1u << LOOP_STACK_POINTER) & ~unknown;
        head->first_accesses = head->last_accesses = accesses;
        memcpy(head->snapshot, registers, sizeof head->snapshot);
        return;
    }
    head->visits++;
    head->last_accesses = accesses;
    for (uint32_t left = head->steady; left; left &= left - 1) {
        int r = __builtin_ctz(left);
        int64_t step = (int64_t)(registers[r] - head->snapshot[r]);

        if (head->visits == 2)
            head->step[r] = step;
        if (step == 0 || step != head->step[r] || unknown >> r & 1)
            head->steady &= ~(1u << r);
    }
    memcpy(head->snapshot, registers, sizeof head->snapshot);
}

const struct loop_head *loops_hottest(const struct loops *loops)
{
    const struct loop_head *best = NULL;

    for (unsigned i = 0; i < loops->count; i++)
        if (!best || loops->heads[i].visits > best->visits)
            best = &loops->heads[i];
    return best;
}

const struct loop_head *loops_odometer(const struct loops *loops, struct odometer *odometer)
{
    const struct loop_head *best = NULL;
    double longest = 0;

    for (unsigned i = 0; i < loops->count; i++) {
        const struct loop_head *head = &loops->heads[i];
        double period;
        int r;

        if (head->visits < 3 || !head->steady)
            continue;
        period = (double)(head->last_accesses - head->first_accesses) / (head->visits - 1);
        if (period <= longest)
            continue;
        longest = period;
        best = head;
        r = __builtin_ctz(head->steady);
        *odometer = (struct odometer){
            .head = head->ip,
            .stack_pointer = head->stack_pointer,
            .register_number = (unsigned)r,
            .step = head->step[r],
            .accesses_per_visit = period,
            .next_value = head->snapshot[r],
            .accesses = head->last_accesses,
        };
    }
    return best;
}
