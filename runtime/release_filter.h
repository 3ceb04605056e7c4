/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells in a few nanoseconds whether released memory may hold a watched address: a counter per
 * class of 4 KiB pages. Signal-safe, wait-free; of all threads.
 */
#ifndef REUSE_RUNTIME_RELEASE_FILTER_H
#define REUSE_RUNTIME_RELEASE_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { RELEASE_FILTER_CLASSES = 1024, RELEASE_FILTER_PAGES_MAX = 64 };

/* watches: how many there are in all. A class counts the watches on the pages that fall into it. */
struct release_filter {
    _Atomic uint32_t watches;
    _Atomic uint32_t classes[RELEASE_FILTER_CLASSES];
};

static inline unsigned release_filter_class(uint64_t page)
{
    return page * UINT64_C(0x9e3779b97f4a7c15) >> 54; /* golden ratio; 10 bits */
}

static inline void release_filter_add(struct release_filter *filter, uint64_t address)
{
    atomic_fetch_add_explicit(&filter->classes[release_filter_class(address >> 12)], 1,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&filter->watches, 1, memory_order_relaxed);
}

static inline void release_filter_remove(struct release_filter *filter, uint64_t address)
{
    atomic_fetch_sub_explicit(&filter->watches, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&filter->classes[release_filter_class(address >> 12)], 1,
                              memory_order_relaxed);
}

/* False: no watched address lies in [base, base + size). size is not 0. */
static inline bool release_filter_may_hold(const struct release_filter *filter, uint64_t base,
                                           uint64_t size)
{
    if (__builtin_expect(atomic_load_explicit(&filter->watches, memory_order_relaxed) == 0, 1))
        return false;
    uint64_t page = base >> 12;
    const uint64_t last = (base + size - 1) >> 12;
    if (last - page >= RELEASE_FILTER_PAGES_MAX)
        return true;
    for (; page <= last; page++) {
        if (atomic_load_explicit(&filter->classes[release_filter_class(page)],
                                 memory_order_relaxed) != 0)
            return true;
    }
    return false;
}

#endif
