/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation, compaction and ranks of exact_order.h; what every access needs is inline there. */
#include "reuse/exact_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROW(n)                                                                                     \
    {                                                                                              \
        .before = {                                                                                \
            n < 0,                                                                                 \
            n < 1,                                                                                 \
            n < 2,                                                                                 \
            n < 3,                                                                                 \
            n < 4,                                                                                 \
            n < 5,                                                                                 \
            n < 6,                                                                                 \
            n < 7,                                                                                 \
            n < 8,                                                                                 \
            n < 9,                                                                                 \
            n < 10,                                                                                \
            n < 11,                                                                                \
            n < 12,                                                                                \
            n < 13,                                                                                \
            n < 14,                                                                                \
            n < 15                                                                                 \
        }                                                                                          \
    }
const union exact_order_node exact_order_later[EXACT_ORDER_FANOUT] = {
    ROW(0), ROW(1), ROW(2),  ROW(3),  ROW(4),  ROW(5),  ROW(6),  ROW(7),
    ROW(8), ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15),
};
#undef ROW

#define FIELD(n) (UINT64_C(1) << (9 * (n)))
const uint64_t exact_order_word_later[8] = {
    FIELD(1) | FIELD(2) | FIELD(3) | FIELD(4) | FIELD(5) | FIELD(6),
    FIELD(2) | FIELD(3) | FIELD(4) | FIELD(5) | FIELD(6),
    FIELD(3) | FIELD(4) | FIELD(5) | FIELD(6),
    FIELD(4) | FIELD(5) | FIELD(6),
    FIELD(5) | FIELD(6),
    FIELD(6),
    0,
    0,
};
#undef FIELD

/* Block numbers times 512 must fit 32 bits. */
static const uint64_t blocks_max = UINT64_C(1) << 23;

static void *node_memory(size_t bytes)
{
    return aligned_alloc(64, (bytes + 63) & ~(size_t)63);
}

bool exact_order_create(struct exact_order *order, uint64_t capacity)
{
    memset(order, 0, sizeof *order);
    uint64_t count = (capacity + EXACT_ORDER_BLOCK_BITS - 1) / EXACT_ORDER_BLOCK_BITS;
    if (count == 0)
        count = 1;
    if (count > blocks_max) {
        errno = ENOMEM;
        return false;
    }
    order->blocks = node_memory(count * sizeof *order->blocks);
    bool whole = order->blocks != NULL;
    for (uint64_t children = count; children > 1 && whole; order->level_count++) {
        children = (children + EXACT_ORDER_FANOUT - 1) / EXACT_ORDER_FANOUT;
        order->levels[order->level_count] = node_memory(children * sizeof **order->levels);
        whole = order->levels[order->level_count] != NULL;
    }
    if (!whole) {
        exact_order_destroy(order);
        errno = ENOMEM;
        return false;
    }
    order->block_count = (uint32_t)count;
    return true;
}

void exact_order_destroy(struct exact_order *order)
{
    free(order->blocks);
    for (unsigned level = 0; level < EXACT_ORDER_LEVELS_MAX; level++)
        free(order->levels[level]);
    memset(order, 0, sizeof *order);
}

uint64_t exact_order_capacity(const struct exact_order *order)
{
    return (uint64_t)order->block_count * EXACT_ORDER_BLOCK_BITS;
}

uint64_t exact_order_bytes(const struct exact_order *order)
{
    uint64_t bytes = 0, children = order->block_count;
    bytes += children * sizeof *order->blocks;
    for (unsigned level = 0; level < order->level_count; level++) {
        children = (children + EXACT_ORDER_FANOUT - 1) / EXACT_ORDER_FANOUT;
        bytes += children * sizeof **order->levels;
    }
    return bytes;
}

uint32_t exact_order_rank(const struct exact_order *order, uint32_t time)
{
    uint32_t child = time >> 9, word = (time >> 6) & 7, bit = time & 63;
    const struct exact_order_block *block = &order->blocks[child];
    uint32_t rank = (uint32_t)(block->before >> (9 * word) & 511) +
                    (uint32_t)__builtin_popcountll(block->words[word] & ((UINT64_C(2) << bit) - 1));
    for (unsigned level = 0; level < order->level_count; level++) {
        rank += order->levels[level][child / EXACT_ORDER_FANOUT].before[child % EXACT_ORDER_FANOUT];
        child /= EXACT_ORDER_FANOUT;
    }
    return rank;
}

/*
 * Entries to the right of the open block are never read before they are set here: top down, the
 * open block has before it everything that is live; what its ancestors have before them is
 * subtracted.
 */
void exact_order_open_block(struct exact_order *order)
{
    uint32_t number = order->next >> 9;
    memset(&order->blocks[number], 0, sizeof *order->blocks);
    uint32_t before = 0;
    for (unsigned level = order->level_count; level-- > 0;) {
        uint32_t child = number >> (4 * level);
        uint32_t *entry =
            &order->levels[level][child / EXACT_ORDER_FANOUT].before[child % EXACT_ORDER_FANOUT];
        bool first_of_child = (number & ((UINT32_C(1) << (4 * level)) - 1)) == 0;
        if (first_of_child)
            *entry = order->live - before;
        before += *entry;
    }
}

bool exact_order_compact(struct exact_order *order, uint64_t capacity)
{
    uint32_t live = order->live;
    struct exact_order fresh;
    if (capacity > exact_order_capacity(order) && exact_order_create(&fresh, capacity)) {
        exact_order_destroy(order);
        *order = fresh;
    }
    order->next = 0;
    order->live = 0;
    for (uint32_t i = 0; i < live; i++)
        exact_order_append(order);
    return exact_order_left(order) > 0;
}
