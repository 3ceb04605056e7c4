/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls that a thread is in, as its accesses show them, and the node of the regions tree that
 * each is in: for counting accesses by function, callees included.
 *
 * A call pushes its return address, a return loads it: the address of that slot names the frame. A
 * frame is over when something is called or returned from at its slot or above, on the same stack.
 * So frames that longjmp or an exception left behind go with the next call, signal handlers nest
 * like calls, and a tail call stays in its frame. What runs on another stack (an alternate signal
 * stack, a coroutine) lies on top of the thread's own stack until that is used again. Pure, not
 * thread-safe.
 */
#ifndef REUSE_REUSE_EXACT_CALLS_H
#define REUSE_REUSE_EXACT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

struct exact_call {
    uint64_t slot; /* of the return address */
    uint32_t node;
};

/* Zeroed is empty; stack_low and stack_high are the owner's to set: its own stack, 0 unknown. */
struct exact_calls {
    struct exact_call *items; /* outermost first */
    uint32_t count, capacity;
    uint32_t outermost; /* node outside of all calls */
    uint64_t stack_low, stack_high;
};

void exact_calls_destroy(struct exact_calls *);

/* The node that the thread is in. */
static inline uint32_t exact_calls_node(const struct exact_calls *calls)
{
    return calls->count > 0 ? calls->items[calls->count - 1].node : calls->outermost;
}

/* A return address was stored at slot: the callee begins in the caller's node. */
void exact_calls_call(struct exact_calls *, uint64_t slot);

/* A return address was loaded from slot. */
void exact_calls_return(struct exact_calls *, uint64_t slot);

/* The function that runs now is in that node. */
void exact_calls_enter(struct exact_calls *, uint32_t node);

#endif
