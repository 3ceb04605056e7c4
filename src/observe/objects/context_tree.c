/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash table with open addressing over an array of nodes. Signal-safe.
 *
 * The table has levels, each four times as large as the one before. A pair is looked for in a
 * window of each level in turn, one cache line, and in the last level from there on; it is put into
 * the first free slot on that way. So a program with few contexts touches few pages of a table that
 * has room for very many, and the contexts that are met first, which are mostly those that are met
 * often, are found first.
 *
 * A node is written, announced and only then published by a compare-and-swap of its slot, so a
 * number in the table always names a finished node. Who loses the race for a slot to a node of the
 * same pair takes the winner's number; his own node stays in the array, announced but not in use.
 */
#include "objects/context_tree.h"

#include <stdatomic.h>

#include "signal_safe.h"

struct node {
    uint64_t ip;
    uint32_t parent;
};

enum {
    SMALLEST_LEVEL = 1024, /* slots; two pages */
    LEVEL_GROWTH = 4,
    WINDOW = 8, /* slots of a cache line */
};

struct context_tree {
    context_created created;
    void *user;
    uint32_t capacity;
    uint32_t last_slots; /* of the last level */
    struct node *nodes;  /* node of number i is nodes[i - 1] */
    _Atomic uint32_t count;
    _Atomic uint64_t overflows;
    /* Level after level: 0, or number | upper half of the hash << 32, which spares most looks at
     * nodes of other pairs. */
    _Alignas(WINDOW * sizeof(uint64_t)) _Atomic uint64_t slots[];
};

/* At most half of the slots are in use, so that probing ends soon, and ends at all. */
static uint32_t last_level_slots(uint32_t capacity)
{
    uint32_t count = 16;
    while (count / 2 < capacity)
        count *= 2;
    return count;
}

static size_t slots_of_all_levels(uint32_t last)
{
    size_t slots = last;

    for (uint32_t level = SMALLEST_LEVEL; level < last; level *= LEVEL_GROWTH)
        slots += level;
    return slots;
}

static size_t nodes_offset(uint32_t capacity)
{
    return sizeof(struct context_tree) +
           slots_of_all_levels(last_level_slots(capacity)) * sizeof(uint64_t);
}

size_t context_tree_size(uint32_t capacity)
{
    return nodes_offset(capacity) + (size_t)capacity * sizeof(struct node);
}

struct context_tree *context_tree_create(void *memory, uint32_t capacity, context_created created,
                                         void *user)
{
    struct context_tree *tree = memory;
    tree->created = created;
    tree->user = user;
    tree->capacity = capacity;
    tree->last_slots = last_level_slots(capacity);
    tree->nodes = (struct node *)((char *)memory + nodes_offset(capacity));
    return tree;
}

/* The two halves of a product depend on all bits of both factors (after W. Yi's wyhash). */
static uint64_t hash_pair(uint32_t parent, uint64_t ip)
{
    const unsigned __int128 product =
        (unsigned __int128)(ip ^ UINT64_C(0xa0761d6478bd642f)) *
        ((uint64_t)parent * UINT64_C(0x9e3779b97f4a7c15) ^ UINT64_C(0xe7037ed1a0b428db));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A new node's number, or 0 when there is no room. */
static uint32_t create_node(struct context_tree *tree, uint32_t parent, uint64_t ip)
{
    uint32_t used = atomic_load_explicit(&tree->count, memory_order_relaxed);
    do {
        if (used >= tree->capacity) {
            atomic_fetch_add_explicit(&tree->overflows, 1, memory_order_relaxed);
            return 0;
        }
    } while (!atomic_compare_exchange_weak_explicit(&tree->count, &used, used + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    tree->nodes[used] = (struct node){.ip = ip, .parent = parent};
    if (tree->created != NULL)
        tree->created(tree->user, used + 1, parent, ip);
    return used + 1;
}

/* Looks at a slot on the way; true: *number is the pair's, or 0 because there is no room. */
static bool visit_slot(struct context_tree *tree, _Atomic uint64_t *slot, uint32_t parent,
                       uint64_t ip, uint64_t hash, uint32_t *number)
{
    uint64_t value = atomic_load_explicit(slot, memory_order_acquire);

    if (value == 0) {
        if (*number == 0 && (*number = create_node(tree, parent, ip)) == 0)
            return true;
        if (atomic_compare_exchange_strong_explicit(slot, &value, *number | hash >> 32 << 32,
                                                    memory_order_acq_rel, memory_order_acquire))
            return true;
    }
    if (value >> 32 == hash >> 32) {
        const struct node *node = &tree->nodes[(uint32_t)value - 1];
        if (node->ip == ip && node->parent == parent) {
            *number = (uint32_t)value;
            return true;
        }
    }
    return false;
}

static uint64_t window_in(uint32_t slots, uint64_t hash)
{
    return hash & (slots - 1) & ~(uint64_t)(WINDOW - 1);
}

/* The levels that are in use are full but for the last, so that most pairs are looked for in all of
 * them: their lines come together instead of one after the other. */
static void fetch_windows(const struct context_tree *tree, uint64_t hash)
{
    const uint32_t count = context_tree_count(tree);
    const _Atomic uint64_t *level = tree->slots;

    for (uint32_t slots = SMALLEST_LEVEL; slots < tree->last_slots; slots *= LEVEL_GROWTH) {
        __builtin_prefetch(level + window_in(slots, hash));
        if (count < slots)
            return;
        level += slots;
    }
}

uint32_t context_tree_child(struct context_tree *tree, uint32_t parent, uint64_t ip)
{
    const uint64_t hash = hash_pair(parent, ip);
    _Atomic uint64_t *level = tree->slots;
    uint32_t number = 0; /* once created, wherever it is put */

    fetch_windows(tree, hash);
    for (uint32_t slots = SMALLEST_LEVEL; slots < tree->last_slots; slots *= LEVEL_GROWTH) {
        _Atomic uint64_t *window = level + window_in(slots, hash);

        for (unsigned i = 0; i < WINDOW; i++)
            if (visit_slot(tree, window + i, parent, ip, hash, &number))
                return number;
        level += slots;
    }
    for (uint64_t i = hash;; i++)
        if (visit_slot(tree, level + (i & (tree->last_slots - 1)), parent, ip, hash, &number))
            return number;
}

uint32_t context_tree_intern(struct context_tree *tree, const uint64_t *ips, size_t n)
{
    uint32_t context = 0;
    while (n-- > 0) {
        context = context_tree_child(tree, context, ips[n]);
        if (context == 0)
            return 0;
    }
    return context;
}

void context_tree_node(const struct context_tree *tree, uint32_t context_id, uint32_t *parent,
                       uint64_t *ip)
{
    *parent = tree->nodes[context_id - 1].parent;
    *ip = tree->nodes[context_id - 1].ip;
}

uint32_t context_tree_count(const struct context_tree *tree)
{
    return atomic_load_explicit(&tree->count, memory_order_relaxed);
}

uint64_t context_tree_overflows(const struct context_tree *tree)
{
    return atomic_load_explicit(&tree->overflows, memory_order_relaxed);
}
