/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the real functions of the allocation family; serves allocations made meanwhile. */
#include "allocation/real_allocator.h"

#include <dlfcn.h>
#include <errno.h>

#include "allocation/allocation_objects.h"
#include "interposition/interpose.h"
#include "own/c_library.h"

static void *first_malloc(size_t size);
static void *first_calloc(size_t count, size_t size);
static void first_free(void *pointer);

struct real_allocator real_allocator = {
    .malloc = first_malloc, .calloc = first_calloc, .free = first_free};

/* What we must know of the object that the allocator is part of. */
static void look_at_allocator(void *real_malloc)
{
    struct dl_find_object allocator, other;
    void *usable_size = interpose_real("malloc_usable_size");
    if (!c_library_is_known())
        return;
    if (real_malloc == NULL || _dl_find_object(real_malloc, &allocator) != 0)
        return;
    real_allocator.allocator_start = (uint64_t)(uintptr_t)allocator.dlfo_map_start;
    real_allocator.allocator_end = (uint64_t)(uintptr_t)allocator.dlfo_map_end;
    /* Of another allocator it would not know the blocks. */
    if (usable_size != NULL && _dl_find_object(usable_size, &other) == 0 &&
        other.dlfo_link_map == allocator.dlfo_link_map)
        *(void **)&real_allocator.usable_size = usable_size;
}

bool real_allocator_look_up(void)
{
    if (interpose_is_resolving())
        return false;
    void *const next_malloc = interpose_real("malloc"),
                *const next_calloc = interpose_real("calloc"),
                *const next_free = interpose_real("free");
#define LOOK_UP(name) *(void **)&real_allocator.name = interpose_real(#name)
    LOOK_UP(realloc);
    LOOK_UP(reallocarray);
    LOOK_UP(memalign);
    LOOK_UP(posix_memalign);
    LOOK_UP(aligned_alloc);
    LOOK_UP(valloc);
    LOOK_UP(pvalloc);
    LOOK_UP(mmap);
    LOOK_UP(munmap);
    LOOK_UP(mremap);
#undef LOOK_UP
    look_at_allocator(next_malloc);
    *(void **)&real_allocator.malloc = next_malloc;
    *(void **)&real_allocator.calloc = next_calloc;
    *(void **)&real_allocator.free = next_free;
    atomic_store_explicit(&real_allocator.known, true, memory_order_release);
    return true;
}

/* What frees and moves blocks stays: those that came before go to where they came from. */
void interpose_allocation_forget_real(void)
{
    real_allocator.malloc = first_malloc;
    real_allocator.calloc = first_calloc;
    atomic_store_explicit(&real_allocator.known, false, memory_order_release);
}

void *allocate_from_arena(size_t alignment, size_t size)
{
    void *pointer = interpose_arena_allocate(alignment < 16 ? 16 : alignment, size);
    if (pointer == NULL)
        errno = ENOMEM;
    else
        release_filter_keep(&allocation_filter, (uint64_t)(uintptr_t)pointer);
    return pointer;
}

void *allocate_nothing(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *first_malloc(size_t size)
{
    return real_allocator_is_known() ? real_allocator.malloc(size) : allocate_from_arena(16, size);
}

static void *first_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (real_allocator_is_known())
        return real_allocator.calloc(count, size);
    return __builtin_mul_overflow(count, size, &bytes) ? allocate_nothing()
                                                       : allocate_from_arena(16, bytes);
}

static void first_free(void *pointer)
{
    if (pointer != NULL && real_allocator_is_known())
        real_allocator.free(pointer);
}
