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

/* Where the frame's words are: below the frame pointer if there is one and room between the two,
 * else above the stack pointer. */
static uint64_t frame_of(const uint64_t registers[LOOP_REGISTERS], uint32_t unknown)
{
    uint64_t stack = registers[LOOP_STACK_POINTER], frame = registers[LOOP_FRAME_POINTER];
    enum { FRAME_MAX = 1 << 16 };

    if (!(unknown >> LOOP_FRAME_POINTER & 1) && frame >= stack && frame - stack < FRAME_MAX &&
        frame - stack + INTERPRETER_RED_ZONE >= 4 * LOOP_FRAME_WORDS && frame % 8 == 0)
        return frame - 4 * LOOP_FRAME_WORDS;
    return stack;
}

static struct loop_head *new_head(struct loops *loops, uint64_t ip,
                                  const uint64_t registers[LOOP_REGISTERS], uint32_t unknown,
                                  uint64_t accesses)
{
    struct loop_head *head;

    /* A full table keeps the loops it has: the first seen are the innermost running ones, and
     * their outer loops come within a few of their trips. */
    if (loops->count == LOOPS_MAX)
        return NULL;
    loops->recent = loops->count;
    head = &loops->heads[loops->count++];
    head->ip = ip;
    head->stack_pointer = registers[LOOP_STACK_POINTER];
    head->visits = 1;
    head->steady = (UINT32_MAX >> (32 - LOOP_REGISTERS)) & ~(1u << LOOP_STACK_POINTER) & ~unknown;
    head->first_accesses = head->last_accesses = accesses;
    head->squared_lengths = 0;
    memcpy(head->snapshot, registers, sizeof head->snapshot);
    head->frame = frame_of(registers, unknown);
    head->frame_visits = head->frame_looks = 0;
    head->frame_steady = (1u << LOOP_FRAME_WORDS) - 1;
    return head;
}

struct loop_head *loops_visit(struct loops *loops, uint64_t ip,
                              const uint64_t registers[LOOP_REGISTERS], uint32_t unknown,
                              uint64_t accesses)
{
    struct loop_head *head = find(loops, ip, registers[LOOP_STACK_POINTER]);
    double length;

    if (!head)
        return new_head(loops, ip, registers, unknown, accesses);
    length = (double)(accesses - head->last_accesses);
    head->squared_lengths += length * length;
    head->visits++;
    head->last_accesses = accesses;
    if (!head->steady && !head->frame_steady)
        return NULL;
    for (uint32_t left = head->steady; left; left &= left - 1) {
        int r = __builtin_ctz(left);
        int64_t step = (int64_t)(registers[r] - head->snapshot[r]);

        if (head->visits == 2)
            head->step[r] = step;
        if (step == 0 || step != head->step[r] || unknown >> r & 1)
            head->steady &= ~(1u << r);
    }
    if (head->steady)
        memcpy(head->snapshot, registers, sizeof head->snapshot);
    /* The first four visits, then every doubling. */
    return head->frame_steady && (head->visits <= 4 || (head->visits & (head->visits - 1)) == 0)
               ? head
               : NULL;
}

void loops_frame(struct loop_head *head, const uint32_t words[LOOP_FRAME_WORDS], uint32_t unknown)
{
    int32_t visits = (int32_t)(head->visits - head->frame_visits);

    head->frame_steady &= ~unknown;
    for (uint32_t left = head->frame_looks ? head->frame_steady : 0; left; left &= left - 1) {
        int w = __builtin_ctz(left);
        int32_t change = (int32_t)(words[w] - head->frame_words[w]);

        if (head->frame_looks == 1)
            head->frame_step[w] = change / visits;
        if (change == 0 || change != head->frame_step[w] * visits)
            head->frame_steady &= ~(1u << w);
    }
    memcpy(head->frame_words, words, sizeof head->frame_words);
    head->frame_visits = head->visits;
    head->frame_accesses = head->last_accesses;
    head->frame_looks++;
}

const struct loop_head *loops_hottest(const struct loops *loops)
{
    const struct loop_head *best = NULL;

    for (unsigned i = 0; i < loops->count; i++)
        if (!best || loops->heads[i].visits > best->visits)
            best = &loops->heads[i];
    return best;
}

double odometer_visits(const struct odometer *odometer, uint64_t from, uint64_t to)
{
    int64_t change = odometer->address ? (int32_t)(uint32_t)(to - from) : (int64_t)(to - from);

    return (double)change / (double)odometer->step;
}

bool loops_length_is_known(double mean, double squares, double n)
{
    enum { ONE_IN = 5 };
    double variance = squares / n - mean * mean;

    /* Squared standard error of the mean: variance / (n - 1) in terms of the sample's own. */
    return n < 2 || variance * ONE_IN * ONE_IN <= (n - 1) * mean * mean;
}

/* Period of a head in accesses, and its odometer; 0 when it has none. */
static double head_odometer(const struct loop_head *head, uint64_t accesses,
                            struct odometer *odometer)
{
    enum { OVERDUE = 3 }; /* visits */
    bool in_frame = !head->steady && head->frame_looks >= 3 && head->frame_steady;
    double visits = head->visits - 1.0, mean;
    int which;

    if (head->visits < 3 || (!head->steady && !in_frame))
        return 0;
    mean = (double)(head->last_accesses - head->first_accesses) / visits;
    /* A few visits that differ much tell nothing of those outside of what was looked at. */
    if (!loops_length_is_known(mean, head->squared_lengths, visits))
        return 0;
    /* It has ended: activations of a recursive function leave many such, each steady while it was.
     */
    if ((double)accesses - (double)head->last_accesses >
        OVERDUE * sqrt(head->squared_lengths / visits))
        return 0;
    which = __builtin_ctz(in_frame ? head->frame_steady : head->steady);
    *odometer = (struct odometer){
        .head = head->ip,
        .stack_pointer = head->stack_pointer,
        .address = in_frame ? head->frame + 4 * (uint64_t)which : 0,
        .register_number = in_frame ? 0 : (unsigned)which,
        .step = in_frame ? head->frame_step[which] : head->step[which],
        .accesses_per_visit = mean,
        .deviation = mean > 0 ? sqrt(fmax(0, head->squared_lengths / visits / mean / mean - 1)) : 0,
        .base_value = in_frame ? head->frame_words[which] : head->snapshot[which],
        .accesses = in_frame ? head->frame_accesses : head->last_accesses,
    };
    return odometer->accesses_per_visit;
}

const struct loop_head *loops_odometer(const struct loops *loops, uint64_t accesses,
                                       struct odometer *odometer)
{
    const struct loop_head *best = NULL;
    double longest = 0;

    for (unsigned i = 0; i < loops->count; i++) {
        struct odometer candidate;
        double period = head_odometer(&loops->heads[i], accesses, &candidate);

        if (period > longest) {
            longest = period;
            best = &loops->heads[i];
            *odometer = candidate;
        }
    }
    return best;
}
