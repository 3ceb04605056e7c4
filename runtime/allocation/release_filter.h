/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells in a nanosecond whether the release of a block matters: a tracked block starts there, or a
 * watched address may lie in it. Signal-safe; wait-free for those who ask; of all threads.
 *
 * A bit for each 16 bytes of a window of 128 MiB, onto which the address space is folded:
 * neighbours of the heap have neighbouring bits, so that the filter takes a 128th of the cache that
 * the program's blocks take. With one of 64 blocks tracked, 3 of 100 releases in a heap of 500 MB
 * are asked in vain. A bit is set while its count of tracked starts is not 0, or the count of
 * watches on its word of 64 bits; a watched address counts on the words of the 4 KiB before it, in
 * which a small block that contains it may start. Memory is touched as it is used: up to 1 MiB by
 * those who ask, 8 MiB by those who change it.
 *
 * Programs release small blocks at the same few addresses over and over, so that bits alone would
 * ask in vain for each of them while a watch is near. So watched addresses are kept as well, as
 * many as a dozen threads have; the block is looked for among them, and beyond that number in the
 * counts.
 *
 * Who asks while the same place is added or removed may get either answer. A count that reaches its
 * end stays there.
 */
#ifndef REUSE_RUNTIME_RELEASE_FILTER_H
#define REUSE_RUNTIME_RELEASE_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    RELEASE_FILTER_BITS = 1 << 23,
    RELEASE_FILTER_REACH = 4096, /* largest untracked block whose watches are found */
    RELEASE_FILTER_WATCHED = 64, /* addresses that are kept */
};

struct release_filter {
    _Atomic uint64_t bits[RELEASE_FILTER_BITS / 64];
    _Atomic uint8_t starts[RELEASE_FILTER_BITS];
    _Atomic uint8_t watches[RELEASE_FILTER_BITS / 64];
    _Atomic uint64_t watched[RELEASE_FILTER_WATCHED]; /* 0: none */
    _Atomic uint32_t used;   /* of these, so many from the first on may not be 0; never falls */
    _Atomic uint32_t beyond; /* watched addresses that are not among them */
};

/* Every 256 bytes skip one place, so that heaps at multiples of 64 MiB do not meet. */
static inline uint64_t release_filter_place(uint64_t base)
{
    return ((base >> 4) + (base >> 8)) % RELEASE_FILTER_BITS;
}

/* False: nothing needs to be done when a block of at most RELEASE_FILTER_REACH bytes, or a tracked
 * one, that starts at base is released. */
static inline bool release_filter_has(const struct release_filter *filter, uint64_t base)
{
    const uint64_t place = release_filter_place(base);
    return atomic_load_explicit(&filter->bits[place / 64], memory_order_relaxed) >> place % 64 & 1;
}

/* Whether a tracked block may start there. */
static inline bool release_filter_has_start(const struct release_filter *filter, uint64_t base)
{
    return atomic_load_explicit(&filter->starts[release_filter_place(base)],
                                memory_order_relaxed) != 0;
}

/* The start of a tracked block. */
void release_filter_add(struct release_filter *, uint64_t base);
void release_filter_remove(struct release_filter *, uint64_t base);

/* Of a tracked start, for good. */
void release_filter_keep(struct release_filter *, uint64_t base);

/* A watched address. Nested watches count. */
void release_filter_watch(struct release_filter *, uint64_t address);
void release_filter_unwatch(struct release_filter *, uint64_t address);

/* False: no watched address lies in [base, base + size). size is not 0. */
bool release_filter_may_hold(const struct release_filter *, uint64_t base, uint64_t size);

#endif
