/* SPDX-License-Identifier: BSD-3-Clause */
/* See exact_calls.h. */
#include "reuse/exact_calls.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_CALLS = 256,
    CALLS_MAX = 1 << 20, /* deeper calls share the last frame's node */
};

void exact_calls_destroy(struct exact_calls *calls)
{
    free(calls->items);
    memset(calls, 0, sizeof *calls);
}

static bool on_own_stack(const struct exact_calls *calls, uint64_t slot)
{
    return calls->stack_high == 0 || slot - calls->stack_low < calls->stack_high - calls->stack_low;
}

/* Drops the frames that cannot be any more when the slot is used. */
static void drop_dead(struct exact_calls *calls, uint64_t slot)
{
    bool own = on_own_stack(calls, slot);
    while (calls->count > 0) {
        uint64_t top = calls->items[calls->count - 1].slot;
        bool top_own = on_own_stack(calls, top), left = own && !top_own;
        if (!left && !(own == top_own && top <= slot))
            return;
        calls->count--;
    }
}

void exact_calls_call(struct exact_calls *calls, uint64_t slot)
{
    drop_dead(calls, slot);
    if (calls->count == calls->capacity) {
        uint32_t capacity = calls->capacity ? 2 * calls->capacity : FIRST_CALLS;
        struct exact_call *items =
            capacity <= CALLS_MAX ? realloc(calls->items, capacity * sizeof *items) : NULL;
        if (items == NULL)
            return;
        calls->items = items;
        calls->capacity = capacity;
    }
    uint32_t node = exact_calls_node(calls);
    calls->items[calls->count++] = (struct exact_call){slot, node};
}

void exact_calls_return(struct exact_calls *calls, uint64_t slot)
{
    drop_dead(calls, slot);
}

void exact_calls_enter(struct exact_calls *calls, uint32_t node)
{
    if (calls->count > 0)
        calls->items[calls->count - 1].node = node;
    else
        calls->outermost = node;
}
