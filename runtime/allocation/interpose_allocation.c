/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of the allocation family. Each calls the real function exactly once with the
 * target's own arguments and returns what it returned; tracking happens before or after that, never
 * around it.
 *
 * Most calls concern small blocks that are not tracked. For these malloc, calloc, realloc and free
 * do no more than to find that out, and jump: no frame, no mark, one load that may miss the cache.
 */
#include "allocation/interpose_allocation.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "allocation/allocation_objects.h"
#include "allocation/allocation_thread.h"
#include "allocation/real_allocator.h"
#include "interposition/interpose.h"
#include "own/c_library.h"
#include "unwinding/unwind.h"

/* It was not passed over, if it is a larger one. */
static __attribute__((noinline)) void came_tracked(void *pointer, size_t size,
                                                   enum allocator allocator,
                                                   const struct unwind_start *caller)
{
    if (allocation_passes_over(caller->ip, caller->stack_pointer, size) ||
        !allocation_follow(caller->stack_pointer))
        return;
    const uint64_t since = allocation_clock();
    allocation_came(pointer, size, allocator, caller);
    allocation_spent(since, size);
    allocation_leave();
}

/* The block that the real function returned to the caller. What passes over larger ones is kept
 * short: some programs make 20 million a second. */
static inline void came(void *pointer, size_t size, enum allocator allocator,
                        const struct unwind_start *caller)
{
    if (allocation_passes_over_larger(caller->ip, caller->stack_pointer, size))
        allocation_passed_over(pointer, size);
    else
        came_tracked(pointer, size, allocator, caller);
}

/* A small block that is not to be tracked, asked for by the caller of the function that this is
 * expanded in. */
#define PASSES_OVER(size)                                                                          \
    __builtin_expect(allocation_passes_over((uint64_t)(uintptr_t)__builtin_extract_return_addr(    \
                                                __builtin_return_address(0)),                      \
                                            (uint64_t)(uintptr_t)__builtin_dwarf_cfa(), (size)),   \
                     1)

/*
 * The caller of a wrapper that has called the function that this is expanded in at its end: by a
 * jump, if the compiler optimizes; then the caller of both is the same.
 */
#define START_OF_WRAPPERS_CALLER(wrapper_cfa)                                                      \
    ({                                                                                             \
        struct unwind_start start_ = UNWIND_START_OF_CALLER();                                     \
        if (start_.stack_pointer != (wrapper_cfa)) {                                               \
            const uint64_t *wrapper_ = (const uint64_t *)start_.frame_pointer;                     \
            start_.ip = wrapper_[1];                                                               \
            start_.frame_pointer = wrapper_[0];                                                    \
            start_.stack_pointer = (wrapper_cfa);                                                  \
        }                                                                                          \
        start_;                                                                                    \
    })

static __attribute__((noinline)) void *malloc_tracked(size_t size, uint64_t cfa)
{
    const struct unwind_start caller = START_OF_WRAPPERS_CALLER(cfa);
    void *pointer = real_allocator.malloc(size);
    came(pointer, size, ALLOCATOR_MALLOC, &caller);
    return pointer;
}

INTERPOSED void *malloc(size_t size)
{
    if (PASSES_OVER(size))
        return real_allocator.malloc(size);
    return malloc_tracked(size, (uint64_t)(uintptr_t)__builtin_dwarf_cfa());
}

static __attribute__((noinline)) void *calloc_tracked(size_t count, size_t size, uint64_t cfa)
{
    const struct unwind_start caller = START_OF_WRAPPERS_CALLER(cfa);
    void *pointer = real_allocator.calloc(count, size);
    came(pointer, count * size, ALLOCATOR_CALLOC, &caller);
    return pointer;
}

INTERPOSED void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes) && PASSES_OVER(bytes))
        return real_allocator.calloc(count, size);
    return calloc_tracked(count, size, (uint64_t)(uintptr_t)__builtin_dwarf_cfa());
}

/* An allocation with the real function `call`, in a function whose caller is asked for. */
#define ALLOCATE(call, size, allocator)                                                            \
    do {                                                                                           \
        const struct unwind_start caller_ = UNWIND_START_OF_CALLER();                              \
        void *pointer_ = (call);                                                                   \
        came(pointer_, (size), (allocator), &caller_);                                             \
        return pointer_;                                                                           \
    } while (0)

INTERPOSED void *memalign(size_t alignment, size_t size)
{
    if (!real_allocator_is_known())
        return allocate_from_arena(alignment, size);
    ALLOCATE(real_allocator.memalign(alignment, size), size, ALLOCATOR_MEMALIGN);
}

INTERPOSED void *aligned_alloc(size_t alignment, size_t size)
{
    if (!real_allocator_is_known())
        return allocate_from_arena(alignment, size);
    ALLOCATE(real_allocator.aligned_alloc(alignment, size), size, ALLOCATOR_ALIGNED_ALLOC);
}

INTERPOSED void *valloc(size_t size)
{
    if (!real_allocator_is_known() || real_allocator.valloc == NULL)
        return allocate_nothing();
    ALLOCATE(real_allocator.valloc(size), size, ALLOCATOR_VALLOC);
}

INTERPOSED void *pvalloc(size_t size)
{
    if (!real_allocator_is_known() || real_allocator.pvalloc == NULL)
        return allocate_nothing();
    ALLOCATE(real_allocator.pvalloc(size), size, ALLOCATOR_PVALLOC);
}

INTERPOSED int posix_memalign(void **pointer, size_t alignment, size_t size)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    if (!real_allocator_is_known()) {
        const int saved_errno = errno;
        void *block = allocate_from_arena(alignment, size);
        errno = saved_errno;
        if (block == NULL)
            return ENOMEM;
        *pointer = block;
        return 0;
    }
    const int result = real_allocator.posix_memalign(pointer, alignment, size);
    if (result == 0)
        came(*pointer, size, ALLOCATOR_POSIX_MEMALIGN, &caller);
    return result;
}

/* Of a block that is followed, not of the arena: whether anybody is to be told when it goes. */
static inline bool is_release_of_interest(void *pointer)
{
    const uint64_t base = (uint64_t)(uintptr_t)pointer;
    return release_filter_has_start(&allocation_filter, base) ||
           real_allocator.usable_size == NULL ||
           release_filter_may_hold(&allocation_filter, base, real_allocator.usable_size(pointer));
}

/* Before the memory may be handed to another thread. */
static __attribute__((noinline)) void free_followed(void *pointer)
{
    const uint64_t stack_pointer = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
    if (pointer == NULL || interpose_arena_contains(pointer))
        return;
    if (is_release_of_interest(pointer) && allocation_follow(stack_pointer)) {
        const uint64_t since = allocation_clock();
        const struct allocation_going going = allocation_goes(pointer, real_allocator.usable_size);
        allocation_gone(&going);
        allocation_spent(since, going.block.size);
        allocation_leave();
    }
    real_allocator.free(pointer);
}

INTERPOSED void free(void *pointer)
{
    if (allocation_is_followed(pointer))
        free_followed(pointer);
    else
        real_allocator.free(pointer);
}

INTERPOSED void cfree(void *pointer) __attribute__((alias("free"), leaf, nothrow));

/* A block of the arena moves to the real heap as soon as there is one. */
static void *leave_arena(void *pointer, size_t size)
{
    void *moved =
        real_allocator_is_known() ? real_allocator.malloc(size) : allocate_from_arena(16, size);
    const size_t rest = interpose_arena_rest(pointer);
    if (moved != NULL)
        memcpy(moved, pointer, size < rest ? size : rest);
    return moved;
}

static void *reallocate(void *pointer, size_t size, const struct unwind_start *caller)
{
    if (interpose_arena_contains(pointer))
        return leave_arena(pointer, size);
    if (!real_allocator_is_known())
        return pointer == NULL                  ? allocate_from_arena(16, size)
               : real_allocator.realloc != NULL ? real_allocator.realloc(pointer, size)
                                                : allocate_nothing();
    const bool followed = pointer != NULL && allocation_is_followed(pointer) &&
                          is_release_of_interest(pointer) &&
                          allocation_follow(caller->stack_pointer);
    struct allocation_going going;
    /* Out of the map before the memory may be handed to another thread. */
    if (followed) {
        going = allocation_goes(pointer, real_allocator.usable_size);
        allocation_leave();
    }
    void *result = real_allocator.realloc(pointer, size);
    if (!followed) {
        came(result, size, ALLOCATOR_REALLOC, caller);
    } else if (allocation_follow(caller->stack_pointer)) {
        const uint64_t since = allocation_clock();
        if (result != NULL || size == 0) /* realloc(pointer, 0) frees */
            allocation_moved(&going, result, size, ALLOCATOR_REALLOC, caller);
        else
            allocation_stayed(&going);
        allocation_spent(since, size);
        allocation_leave();
    }
    return result;
}

static __attribute__((noinline)) void *realloc_followed(void *pointer, size_t size, uint64_t cfa)
{
    const struct unwind_start caller = START_OF_WRAPPERS_CALLER(cfa);
    return reallocate(pointer, size, &caller);
}

/* Blocks of the arena are followed. */
INTERPOSED void *realloc(void *pointer, size_t size)
{
    if (!allocation_is_followed(pointer) && real_allocator_was_found() && PASSES_OVER(size))
        return real_allocator.realloc(pointer, size);
    return realloc_followed(pointer, size, (uint64_t)(uintptr_t)__builtin_dwarf_cfa());
}

/* The program's realloc(), if it is another's: of an allocator before us, which has the blocks. */
static void *(*front_realloc(void))(void *, size_t)
{
    static void *(*_Atomic known)(void *, size_t);
    void *(*found)(void *, size_t) = known;
    if (found == NULL) {
        *(void **)&found = interpose_first("realloc");
        known = found = found == NULL ? realloc : found;
    }
    return found == realloc ? NULL : found;
}

/* Later, a thread may hold locks of the loader's, or wait for them. */
static void __attribute__((constructor)) find_front_realloc(void)
{
    if (c_library_is_known())
        front_realloc();
}

INTERPOSED void *reallocarray(void *pointer, size_t count, size_t size)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return allocate_nothing();
    /* An allocator that leaves this one to the C library, which asks realloc() as the program does.
     */
    void *(*front)(void *, size_t) = front_realloc();
    if (front != NULL)
        return front(pointer, bytes);
    return reallocate(pointer, bytes, &caller);
}
