/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The real functions that the allocation wrappers stand in front of, and what serves until they are
 * known: the wrappers work from the first instruction of the process on, long before
 * allocation_begin(), since the loader and other libraries' constructors allocate. While the real
 * functions are being looked up, the start-up arena serves. Internal to the wrappers.
 */
#ifndef REUSE_RUNTIME_REAL_ALLOCATOR_H
#define REUSE_RUNTIME_REAL_ALLOCATOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Looked up together at the first call; threads that meet there store the same. malloc, calloc and
 * free may be called at any time, the others once real_allocator_is_known(). */
struct real_allocator {
    _Atomic bool known;
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
    size_t (*usable_size)(void *);           /* malloc_usable_size of the same allocator, or NULL */
    uint64_t allocator_start, allocator_end; /* of the object that has the real malloc */
};
extern struct real_allocator real_allocator __attribute__((visibility("hidden")));

bool real_allocator_look_up(void);

static inline bool real_allocator_was_found(void)
{
    return __builtin_expect(atomic_load_explicit(&real_allocator.known, memory_order_acquire), 1);
}

/* False while this very thread is looking them up. */
static inline bool real_allocator_is_known(void)
{
    return real_allocator_was_found() || real_allocator_look_up();
}

/* A block of the start-up arena; NULL with errno set when it is full. */
void *allocate_from_arena(size_t alignment, size_t size);

/* NULL, with errno set: memory that cannot be had. */
void *allocate_nothing(void);

#endif
