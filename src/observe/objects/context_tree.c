/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash table with open addressing over an array of nodes. Signal-safe.
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

struct context_tree {
    context_created created;
    void *user;
    uint32_t capacity;
    uint32_t slot_mask;
    struct node *nodes; /* node of number i is nodes[i - 1] */
    _Atomic uint32_t count;
    _Atomic uint64_t overflows;
    /* 0, or number | upper half of the hash << 32, which spares most looks at nodes of other pairs.
     */
    _Atomic uint64_t slots[];
};

/* At most half of the slots are in use, so that probing ends soon, and ends at all. */
static uint32_t slot_count(uint32_t capacity)
{
    uint32_t count = 16;
    while (count / 2 < capacity)
        count *= 2;
    return count;
}

static size_t nodes_offset(uint32_t capacity)
{
    return sizeof(struct context_tree) + (size_t)slot_count(capacity) * sizeof(uint64_t);
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
    tree->slot_mask = slot_count(capacity) - 1;
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

uint32_t context_tree_child(struct context_tree *tree, uint32_t parent, uint64_t ip)
{
    const uint64_t hash = hash_pair(parent, ip);
    uint32_t created = 0;
    for (uint64_t i = hash;; i++) {
        _Atomic uint64_t *slot = &tree->slots[i & tree->slot_mask];
        uint64_t value = atomic_load_explicit(slot, memory_order_acquire);
        if (value == 0) {
            if (created == 0 && (created = create_node(tree, parent, ip)) == 0)
                return 0;
            if (atomic_compare_exchange_strong_explicit(slot, &value, created | hash >> 32 << 32,
                                                        memory_order_acq_rel, memory_order_acquire))
                return created;
        }
        if (value >> 32 == hash >> 32) {
            const struct node *node = &tree->nodes[(uint32_t)value - 1];
            if (node->ip == ip && node->parent == parent)
                return (uint32_t)value;
        }
    }
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
