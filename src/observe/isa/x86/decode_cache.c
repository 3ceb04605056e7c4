/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe, except decode_cache_create(). */
#include "isa/x86/decode_cache.h"

#include <stdatomic.h>
#include <string.h>

#include "signal_safe.h"

enum { GENERATIONS = 2, PROBES = 16 };

struct generation {
    _Atomic(struct block *) *table; /* slots + 0 of them; a power of two */
    size_t slots;
    uint8_t *blocks;
    size_t blocks_size;
    uint8_t *stubs;
    size_t stubs_size;
    atomic_size_t blocks_used, stubs_used;
    atomic_size_t ahead; /* bytes from the table on that decode_cache_ahead() has told of */
    atomic_uint readers;
};

/* Written by decode_cache_create() before any interpreter runs; then only through atomics. */
static struct generation generations[GENERATIONS];
static ptrdiff_t stubs_to_writable; /* likewise */
static atomic_uint current;
/* Held while generations are switched; never waited for. */
static atomic_flag switching = ATOMIC_FLAG_INIT;
static atomic_ullong blocks_inserted, instructions_decoded, resets, uncached;

void decode_cache_create(void *memory, size_t size, void *executable, size_t executable_size,
                         ptrdiff_t to_writable)
{
    size_t half = (memory ? size / GENERATIONS : 0) & ~(size_t)63;
    size_t stub_half = (executable ? executable_size / GENERATIONS : 0) & ~(size_t)63;
    /* About one slot per 256 bytes: a block takes 200 to 1000. */
    size_t slots = half < 4096 ? 0 : (size_t)1 << (63 - __builtin_clzll(half / 256));
    for (unsigned i = 0; i < GENERATIONS; i++) {
        struct generation *g = &generations[i];
        uint8_t *start = half ? (uint8_t *)memory + i * half : NULL;
        g->table = (_Atomic(struct block *) *)(void *)start;
        g->slots = slots;
        g->blocks = slots ? start + slots * sizeof *g->table : NULL;
        g->blocks_size = slots ? half - slots * sizeof *g->table : 0;
        g->stubs = stub_half ? (uint8_t *)executable + i * stub_half : NULL;
        g->stubs_size = stub_half;
        atomic_store(&g->blocks_used, 0);
        atomic_store(&g->stubs_used, 0);
        atomic_store(&g->readers, 0);
        atomic_store(&g->ahead, 0);
    }
    stubs_to_writable = to_writable;
    atomic_store(&current, 0);
}

void decode_cache_after_fork(void)
{
    for (unsigned i = 0; i < GENERATIONS; i++)
        atomic_store(&generations[i].readers, 0);
    atomic_flag_clear(&switching);
}

static void empty(struct generation *g)
{
    memset((void *)g->table, 0, g->slots * sizeof *g->table);
    atomic_store(&g->blocks_used, 0);
    atomic_store(&g->stubs_used, 0);
}

void decode_cache_lost_stubs(bool renewed)
{
    for (unsigned i = 0; i < GENERATIONS; i++) {
        if (atomic_load(&generations[i].blocks_used) > 0)
            empty(&generations[i]);
        if (!renewed)
            generations[i].stubs_size = 0;
    }
}

void decode_cache_statistics(struct decode_cache_statistics *statistics)
{
    statistics->blocks = atomic_load(&blocks_inserted);
    statistics->instructions = atomic_load(&instructions_decoded);
    statistics->resets = atomic_load(&resets);
    statistics->uncached = atomic_load(&uncached);
}

unsigned decode_cache_enter(void)
{
    for (;;) {
        unsigned g = atomic_load(&current);
        atomic_fetch_add(&generations[g].readers, 1);
        /* Counted first, then seen to be still current: it cannot be emptied from here on. */
        if (atomic_load(&current) == g)
            return g;
        atomic_fetch_sub(&generations[g].readers, 1);
    }
}

void decode_cache_leave(unsigned g)
{
    atomic_fetch_sub(&generations[g].readers, 1);
}

void *decode_cache_ahead(size_t wanted, size_t *size)
{
    struct generation *g = &generations[atomic_load(&current)];
    size_t used = atomic_load(&g->blocks_used), told = atomic_load(&g->ahead);
    size_t room = g->blocks_size - used;
    size_t end = g->slots * sizeof *g->table + used + (wanted < room ? wanted : room);

    *size = 0;
    if (end <= told + wanted / 2 || !atomic_compare_exchange_strong(&g->ahead, &told, end))
        return NULL;
    *size = end - told;
    return (unsigned char *)g->table + told;
}

static size_t home_slot(const struct generation *g, uint64_t ip)
{
    return (size_t)(ip * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (g->slots - 1);
}

struct block *decode_cache_find(unsigned generation, uint64_t ip)
{
    const struct generation *g = &generations[generation];
    if (g->slots == 0)
        return NULL;
    size_t slot = home_slot(g, ip);
    for (unsigned i = 0; i < PROBES; i++) {
        struct block *block =
            atomic_load_explicit(&g->table[(slot + i) & (g->slots - 1)], memory_order_acquire);
        if (!block || block->ip == ip)
            return block;
    }
    return NULL;
}

/* Empties the other generation and makes it current, if nobody is in it. */
static void switch_generation(unsigned full)
{
    if (atomic_flag_test_and_set(&switching))
        return;
    unsigned other = 1 - full;
    struct generation *g = &generations[other];
    if (atomic_load(&current) == full && atomic_load(&g->readers) == 0) {
        empty(g);
        atomic_store(&current, other);
        atomic_fetch_add(&resets, 1);
    }
    atomic_flag_clear(&switching);
}

static uint8_t *take(uint8_t *start, size_t limit, atomic_size_t *used, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    size_t at = atomic_load(used);
    do {
        if (limit < size || at > limit - size)
            return NULL;
    } while (!atomic_compare_exchange_weak(used, &at, at + size));
    return start + at;
}

struct block *decode_cache_insert(unsigned generation, const struct block *block)
{
    struct generation *g = &generations[generation];
    size_t ops_size = block->ops_count * sizeof *block->ops;
    /* Code is compared 8 bytes at a time. */
    size_t code_size = (block->code_size + 7u) & ~7u;
    uint8_t *room =
        take(g->blocks, g->blocks_size, &g->blocks_used, sizeof *block + ops_size + code_size);
    atomic_fetch_add_explicit(&instructions_decoded, block->instructions, memory_order_relaxed);
    if (!room) {
        if (g->slots)
            switch_generation(generation);
        atomic_fetch_add_explicit(&uncached, 1, memory_order_relaxed);
        return NULL;
    }
    struct block *copy = (struct block *)(void *)room;
    *copy = *block;
    copy->ops = (struct micro_op *)(void *)(room + sizeof *copy);
    copy->code = room + sizeof *copy + ops_size;
    copy->cached = 1;
    memcpy(copy->ops, block->ops, ops_size);
    memcpy(copy->code, block->code, block->code_size);
    atomic_fetch_add_explicit(&blocks_inserted, 1, memory_order_relaxed);
    size_t home = home_slot(g, block->ip);
    for (unsigned i = 0; i < PROBES; i++) {
        _Atomic(struct block *) *slot = &g->table[(home + i) & (g->slots - 1)];
        struct block *old = NULL;
        if (atomic_compare_exchange_strong(slot, &old, copy))
            return copy;
        if (old->ip == block->ip) {
            atomic_store(slot, copy);
            return copy;
        }
    }
    /* A crowded neighbourhood: the newest takes the home slot. */
    atomic_store(&g->table[home], copy);
    return copy;
}

uint8_t *decode_cache_stub_room(unsigned generation, size_t size)
{
    struct generation *g = &generations[generation];
    return take(g->stubs, g->stubs_size, &g->stubs_used, size);
}

uint8_t *decode_cache_stub_writable(uint8_t *stub)
{
    return stub + stubs_to_writable;
}
