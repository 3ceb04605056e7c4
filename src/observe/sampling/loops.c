/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/loops.h"

#include <math.h>
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

static void new_head(struct loops *loops, uint64_t ip, const uint64_t registers[LOOP_REGISTERS],
                     uint32_t unknown, uint64_t accesses)
{
    struct loop_head *head;

    /* A full table keeps the loops it has: the first seen are the innermost running ones, and
     * their outer loops come within a few of their trips. */
    if (loops->count == LOOPS_MAX)
        return;
    loops->recent = loops->count;
    head = &loops->heads[loops->count++];
    head->ip = ip;
    head->stack_pointer = registers[LOOP_STACK_POINTER];
    head->visits = 1;
    head->steady = (UINT32_MAX >> (32 - LOOP_REGISTERS)) & ~(1u << LOOP_STACK_POINTER) & ~unknown;
    head->first_accesses = head->last_accesses = accesses;
    head->squared_lengths = 0;
    head->known = ~unknown;
    head->rising = head->falling = head->steady;
    memcpy(head->first, registers, sizeof head->first);
    memcpy(head->snapshot, registers, sizeof head->snapshot);
}

void loops_visit(struct loops *loops, uint64_t ip, const uint64_t registers[LOOP_REGISTERS],
                 uint32_t unknown, uint64_t accesses)
{
    struct loop_head *head = find(loops, ip, registers[LOOP_STACK_POINTER]);
    double length;

    if (!head) {
        new_head(loops, ip, registers, unknown, accesses);
        return;
    }
    length = (double)(accesses - head->last_accesses);
    head->squared_lengths += length * length;
    head->visits++;
    head->last_accesses = accesses;
    if (!head->steady && !head->rising && !head->falling)
        return;
    for (uint32_t left = head->steady | head->rising | head->falling; left; left &= left - 1) {
        int r = __builtin_ctz(left);
        int64_t step = (int64_t)(registers[r] - head->snapshot[r]);
        uint32_t bit = 1u << r;

        if (unknown & bit)
            step = 0;
        if (head->visits == 2)
            head->step[r] = step;
        if (step == 0 || step != head->step[r])
            head->steady &= ~bit;
        if (step <= 0)
            head->rising &= ~bit;
        if (step >= 0)
            head->falling &= ~bit;
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

const struct loop_head *loops_head(const struct loops *loops, uint64_t ip)
{
    const struct loop_head *latest = NULL;

    for (unsigned i = 0; i < loops->count; i++) {
        const struct loop_head *head = &loops->heads[i];

        if (head->ip == ip && (!latest || head->last_accesses > latest->last_accesses))
            latest = head;
    }
    return latest;
}

double odometer_progress(const struct odometer *odometer, uint64_t from, uint64_t to)
{
    return (double)(int64_t)(to - from) / (double)odometer->step;
}

/* Mean length of a head's visits in accesses; 0: it has no odometer. */
static double visit_of(const struct loop_head *head, uint64_t accesses)
{
    /* Numbers that have nothing to do with each other grow all the time for a while, too. */
    enum { OVERDUE = 3, VISITS_LEAST = 2, VISITS_ONE_WAY = 8 };
    double visits = head->visits - 1.0;

    if (head->visits < VISITS_LEAST ||
        !(head->steady || (head->visits >= VISITS_ONE_WAY && (head->rising | head->falling))))
        return 0;
    /* It has ended: activations of a recursive function leave many such, each steady while it was.
     */
    if ((double)accesses - (double)head->last_accesses >
        OVERDUE * __builtin_sqrt(head->squared_lengths / visits))
        return 0;
    return (double)(head->last_accesses - head->first_accesses) / visits;
}

static struct odometer odometer_of(const struct loop_head *head, unsigned number)
{
    bool even = head->steady >> number & 1;

    return (struct odometer){.head = head->ip,
                             .stack_pointer = head->stack_pointer,
                             .register_number = number,
                             .step = even                         ? head->step[number]
                                     : head->rising >> number & 1 ? 1
                                                                  : -1,
                             .even = even};
}

unsigned loops_odometers(const struct loops *loops, uint64_t accesses,
                         struct odometer odometers[LOOP_ODOMETERS])
{
    const struct loop_head *best = NULL;
    double longest = 0;
    unsigned n = 0;
    uint32_t registers;

    for (unsigned i = 0; i < loops->count; i++) {
        double visit = visit_of(&loops->heads[i], accesses);

        if (visit > longest) {
            longest = visit;
            best = &loops->heads[i];
        }
    }
    if (!best)
        return 0;
    registers = best->steady ? best->steady : best->rising | best->falling;
    for (; registers && n < LOOP_ODOMETERS; registers &= registers - 1)
        odometers[n++] = odometer_of(best, (unsigned)__builtin_ctz(registers));
    return n;
}
