/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of mmap, mremap and munmap. Each calls the real function exactly once, as those of
 * interpose_allocation.c do. What the allocator itself maps passes through.
 */
#include "allocation/interpose_mapping.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "allocation/allocation_objects.h"
#include "allocation/real_allocator.h"
#include "interposition/interpose.h"
#include "unwinding/unwind.h"

static _Atomic uint32_t shared_count;

uint32_t mapping_shared_count(void)
{
    return atomic_load_explicit(&shared_count, memory_order_acquire);
}

/* Pages of the allocator's own, which the target sees as blocks. */
static inline bool is_allocator(const struct unwind_start *caller)
{
    return caller->ip - real_allocator.allocator_start <
           real_allocator.allocator_end - real_allocator.allocator_start;
}

INTERPOSED void *mmap(void *address, size_t length, int protection, int flags, int descriptor,
                      off_t offset)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    if (!real_allocator_is_known())
        return MAP_FAILED;
    const bool followed = !is_allocator(&caller) && allocation_follow(caller.stack_pointer);
    void *start = real_allocator.mmap(address, length, protection, flags, descriptor, offset);
    if (start != MAP_FAILED && (flags & MAP_SHARED) != 0)
        atomic_fetch_add_explicit(&shared_count, 1, memory_order_release);
    if (!followed)
        return start;
    if (start != MAP_FAILED) {
        const uint64_t base = (uint64_t)(uintptr_t)start;
        mapping_came(&(struct allocation_mapping){.start = base,
                                                  .end = base + mapping_length(length),
                                                  .offset = (uint64_t)offset,
                                                  .protection = protection,
                                                  .flags = flags,
                                                  .descriptor = (flags & MAP_ANONYMOUS) != 0
                                                                    ? -1
                                                                    : descriptor},
                     ALLOCATOR_MMAP, &caller);
    }
    allocation_leave();
    return start;
}

/* off_t has 64 bits on the machines that we support. */
INTERPOSED void *mmap64(void *address, size_t length, int protection, int flags, int descriptor,
                        off64_t offset) __attribute__((alias("mmap")));

INTERPOSED int munmap(void *address, size_t length)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    if (!real_allocator_is_known())
        return -1;
    unwind_forget_stacks((uintptr_t)address, (uintptr_t)address + length);
    if (is_allocator(&caller) || !allocation_follow(caller.stack_pointer))
        return real_allocator.munmap(address, length);
    mapping_goes(address, length);
    const int result = real_allocator.munmap(address, length);
    allocation_leave();
    return result;
}

INTERPOSED void *mremap(void *address, size_t length, size_t new_length, int flags, ...)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    void *wanted = NULL;
    if ((flags & MREMAP_FIXED) != 0) {
        va_list arguments;
        va_start(arguments, flags);
        wanted = va_arg(arguments, void *);
        va_end(arguments);
    }
    if (!real_allocator_is_known())
        return MAP_FAILED;
    if (is_allocator(&caller) || !allocation_follow(caller.stack_pointer))
        return real_allocator.mremap(address, length, new_length, flags, wanted);
    /* Held, so that nobody's new mapping in the old place is taken for what moved away. */
    mapping_hold();
    void *start = real_allocator.mremap(address, length, new_length, flags, wanted);
    const bool moved = start != MAP_FAILED && (flags & MREMAP_DONTUNMAP) == 0;
    mapping_let_go(address, moved ? length : 0);
    if (start != MAP_FAILED) {
        const uint64_t base = (uint64_t)(uintptr_t)start;
        mapping_came(&(struct allocation_mapping){.start = base,
                                                  .end = base + mapping_length(new_length),
                                                  .descriptor = -1},
                     ALLOCATOR_MREMAP, &caller);
    }
    allocation_leave();
    return start;
}
