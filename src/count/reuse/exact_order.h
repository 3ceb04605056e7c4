/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of points in time that answers "how many are later than this one", for exact stack
 * distances.
 *
 * Times are handed out in increasing order and removed in any order. Times are bits; each 64-byte
 * block has seven words of bits and, in the eighth, the number of bits set before each of its
 * words. Above the blocks stands a tree of 64-byte nodes with 16 children each, which hold the
 * number of bits set under the children to their left. A query or a removal touches one block and
 * one node a level (four cache lines for 3.6 million times); appending touches the open block
 * alone.
 *
 * Times run out: the owner then renumbers its times (exact_order_renumbered) and compacts. Pure,
 * allocates with malloc, not thread-safe.
 */
#ifndef REUSE_REUSE_EXACT_ORDER_H
#define REUSE_REUSE_EXACT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXACT_ORDER_BLOCK_BITS = 448, /* used of the 512 that a block's number range has */
    EXACT_ORDER_FANOUT = 16,
    EXACT_ORDER_LEVELS_MAX = 6,
};

struct exact_order_block {
    uint64_t words[7];
    uint64_t before; /* seven fields of 9 bits: bits set in words 0 .. field-1 */
} __attribute__((aligned(64)));

typedef uint32_t exact_order_vector __attribute__((vector_size(64)));

union exact_order_node {
    uint32_t before[EXACT_ORDER_FANOUT]; /* bits set under the children to the left */
    exact_order_vector vector;
};

/* Fields are private. */
struct exact_order {
    struct exact_order_block *blocks;
    union exact_order_node *levels[EXACT_ORDER_LEVELS_MAX]; /* [0]: just above the blocks */
    unsigned level_count;
    uint32_t block_count;
    uint32_t next; /* the time that the next append returns */
    uint32_t live; /* times in the set */
};

extern const union exact_order_node
    exact_order_later[EXACT_ORDER_FANOUT];       /* 1 where child > index */
extern const uint64_t exact_order_word_later[8]; /* 1 in the fields of words > index */

/* Room for at least `capacity` times. False when memory is short (errno) or capacity is too large.
 */
bool exact_order_create(struct exact_order *, uint64_t capacity);
void exact_order_destroy(struct exact_order *);

/* Times that can be handed out in all, and those that are left. */
uint64_t exact_order_capacity(const struct exact_order *);
static inline uint64_t exact_order_left(const struct exact_order *order)
{
    uint32_t block = order->next >> 9;
    if (block >= order->block_count)
        return 0;
    return (uint64_t)(order->block_count - block) * EXACT_ORDER_BLOCK_BITS - (order->next & 511);
}
uint64_t exact_order_bytes(const struct exact_order *);

/* Times of the set that are earlier than or equal to `time`. */
uint32_t exact_order_rank(const struct exact_order *, uint32_t time);

/*
 * The number that a live time gets by compaction: its rank among the live ones. Ask for all of them
 * before compacting.
 */
static inline uint32_t exact_order_number(uint32_t index)
{
    return (index / EXACT_ORDER_BLOCK_BITS) << 9 | index % EXACT_ORDER_BLOCK_BITS;
}
static inline uint32_t exact_order_renumbered(const struct exact_order *order, uint32_t time)
{
    return exact_order_number(exact_order_rank(order, time) - 1);
}

/*
 * Forgets removed times: the live ones become exact_order_number(0 .. live-1). Grows to `capacity`
 * times if that is more than before and memory can be had. False when there is no time left to hand
 * out afterwards.
 */
bool exact_order_compact(struct exact_order *, uint64_t capacity);

void exact_order_open_block(struct exact_order *); /* of append, for the first time of a block */

/* A new latest time. exact_order_left() must not be 0. */
static inline uint32_t exact_order_append(struct exact_order *order)
{
    uint32_t time = order->next, word = (time >> 6) & 7, bit = time & 63;
    if (bit == 0) {
        if (word == 0)
            exact_order_open_block(order);
        else {
            struct exact_order_block *opened = &order->blocks[time >> 9];
            uint64_t before = (opened->before >> (9 * (word - 1)) & 511) +
                              (uint64_t)__builtin_popcountll(opened->words[word - 1]);
            opened->before = (opened->before & ~(UINT64_C(511) << (9 * word))) | before
                                                                                     << (9 * word);
        }
    }
    order->blocks[time >> 9].words[word] |= UINT64_C(1) << bit;
    order->next = time + 1;
    if ((order->next & 511) == EXACT_ORDER_BLOCK_BITS)
        order->next = (order->next | 511) + 1;
    order->live++;
    return time;
}

/* Removes a time of the set; returns how many of the remaining ones are later. */
static inline uint32_t exact_order_remove(struct exact_order *order, uint32_t time)
{
    uint32_t child = time >> 9, word = (time >> 6) & 7, bit = time & 63;
    struct exact_order_block *block = &order->blocks[child];
    uint64_t bits = block->words[word];
    uint32_t rank = (uint32_t)(block->before >> (9 * word) & 511) +
                    (uint32_t)__builtin_popcountll(bits & ((UINT64_C(2) << bit) - 1));
    block->words[word] = bits & ~(UINT64_C(1) << bit);
    block->before -= exact_order_word_later[word];
    for (unsigned level = 0; level < order->level_count; level++) {
        union exact_order_node *node = &order->levels[level][child / EXACT_ORDER_FANOUT];
        rank += node->before[child % EXACT_ORDER_FANOUT];
        node->vector -= exact_order_later[child % EXACT_ORDER_FANOUT].vector;
        child /= EXACT_ORDER_FANOUT;
    }
    return order->live-- - rank;
}

#endif
