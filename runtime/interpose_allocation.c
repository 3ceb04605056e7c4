/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of the allocation family. Each calls the real function exactly once with the
 * target's own arguments and returns what it returned; tracking happens around that.
 *
 * They work from the first instruction of the process on, long before allocation_begin(): the
 * loader and other libraries' constructors allocate. While the real functions are being looked up,
 * the start-up arena serves.
 */
#include "interpose_allocation.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "allocation_objects.h"
#include "allocation_thread.h"
#include "interpose.h"
#include "unwind.h"

/* The real functions. Looked up together at the first call; threads that meet there store the same.
 */
static struct {
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
} real;

static __attribute__((noinline)) bool look_up_real(void)
{
    if (interpose_is_resolving())
        return false;
#define LOOK_UP(name) *(void **)&real.name = interpose_real(#name)
    LOOK_UP(malloc);
    LOOK_UP(calloc);
    LOOK_UP(realloc);
    LOOK_UP(reallocarray);
    LOOK_UP(free);
    LOOK_UP(memalign);
    LOOK_UP(posix_memalign);
    LOOK_UP(aligned_alloc);
    LOOK_UP(valloc);
    LOOK_UP(pvalloc);
    LOOK_UP(mmap);
    LOOK_UP(munmap);
    LOOK_UP(mremap);
#undef LOOK_UP
    atomic_store_explicit(&real.known, true, memory_order_release);
    return true;
}

/* False while this very thread is looking them up. */
static inline bool know_real(void)
{
    return __builtin_expect(atomic_load_explicit(&real.known, memory_order_acquire), 1) ||
           look_up_real();
}

/* Whether to track this call; if so, allocation_leave() ends it. */
static inline bool enter(const struct unwind_start *caller)
{
    return atomic_load_explicit(&allocation_following, memory_order_relaxed) &&
           allocation_enter(caller->stack_pointer);
}

static void *from_arena(size_t alignment, size_t size)
{
    void *pointer = interpose_arena_allocate(alignment < 16 ? 16 : alignment, size);
    if (pointer == NULL)
        errno = ENOMEM;
    return pointer;
}

static void *missing(void)
{
    errno = ENOMEM;
    return NULL;
}

/* An allocation with the real function `call`, in a function whose caller is asked for. */
#define ALLOCATE(call, size, allocator)                                                            \
    do {                                                                                           \
        const struct unwind_start caller_ = UNWIND_START_OF_CALLER();                              \
        if (!enter(&caller_))                                                                      \
            return (call);                                                                         \
        void *pointer_ = (call);                                                                   \
        allocation_came(pointer_, (size), (allocator), &caller_);                                  \
        allocation_leave();                                                                        \
        return pointer_;                                                                           \
    } while (0)

INTERPOSED void *malloc(size_t size)
{
    if (!know_real())
        return from_arena(16, size);
    ALLOCATE(real.malloc(size), size, ALLOCATOR_MALLOC);
}

INTERPOSED void *calloc(size_t count, size_t size)
{
    if (!know_real()) {
        size_t bytes;
        return __builtin_mul_overflow(count, size, &bytes) ? missing() : from_arena(16, bytes);
    }
    ALLOCATE(real.calloc(count, size), count * size, ALLOCATOR_CALLOC);
}

INTERPOSED void *memalign(size_t alignment, size_t size)
{
    if (!know_real())
        return from_arena(alignment, size);
    ALLOCATE(real.memalign(alignment, size), size, ALLOCATOR_MEMALIGN);
}

INTERPOSED void *aligned_alloc(size_t alignment, size_t size)
{
    if (!know_real())
        return from_arena(alignment, size);
    ALLOCATE(real.aligned_alloc(alignment, size), size, ALLOCATOR_ALIGNED_ALLOC);
}

INTERPOSED void *valloc(size_t size)
{
    if (!know_real() || real.valloc == NULL)
        return missing();
    ALLOCATE(real.valloc(size), size, ALLOCATOR_VALLOC);
}

INTERPOSED void *pvalloc(size_t size)
{
    if (!know_real() || real.pvalloc == NULL)
        return missing();
    ALLOCATE(real.pvalloc(size), size, ALLOCATOR_PVALLOC);
}

INTERPOSED int posix_memalign(void **pointer, size_t alignment, size_t size)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    if (!know_real()) {
        void *block = interpose_arena_allocate(alignment, size);
        if (block == NULL)
            return ENOMEM;
        *pointer = block;
        return 0;
    }
    if (!enter(&caller))
        return real.posix_memalign(pointer, alignment, size);
    const int result = real.posix_memalign(pointer, alignment, size);
    if (result == 0)
        allocation_came(*pointer, size, ALLOCATOR_POSIX_MEMALIGN, &caller);
    allocation_leave();
    return result;
}

static void release(void *pointer, uint64_t stack_pointer)
{
    if (interpose_arena_contains(pointer) || !know_real())
        return;
    if (pointer == NULL || !atomic_load_explicit(&allocation_following, memory_order_relaxed) ||
        !allocation_enter(stack_pointer)) {
        real.free(pointer);
        return;
    }
    allocation_goes(pointer);
    real.free(pointer);
    allocation_leave();
}

INTERPOSED void free(void *pointer)
{
    release(pointer, (uint64_t)(uintptr_t)__builtin_frame_address(0));
}

INTERPOSED void cfree(void *pointer);
INTERPOSED void cfree(void *pointer)
{
    release(pointer, (uint64_t)(uintptr_t)__builtin_frame_address(0));
}

/* A block of the arena moves to the real heap as soon as there is one. */
static void *leave_arena(void *pointer, size_t size)
{
    void *moved = know_real() ? real.malloc(size) : from_arena(16, size);
    const size_t rest = interpose_arena_rest(pointer);
    if (moved != NULL)
        memcpy(moved, pointer, size < rest ? size : rest);
    return moved;
}

static void *reallocate(void *pointer, size_t size, const struct unwind_start *caller)
{
    if (interpose_arena_contains(pointer))
        return leave_arena(pointer, size);
    if (!know_real())
        return pointer == NULL ? from_arena(16, size) : missing();
    if (!enter(caller))
        return real.realloc(pointer, size);
    /* Out of the map before the memory may be handed to another thread. */
    struct block old;
    const bool tracked = allocation_moving(pointer, &old);
    void *result = real.realloc(pointer, size);
    if (!tracked)
        allocation_came(result, size, ALLOCATOR_REALLOC, caller);
    else if (result != NULL || size == 0) /* realloc(pointer, 0) frees */
        allocation_moved(&old, result, size, ALLOCATOR_REALLOC, caller);
    else
        allocation_stayed(&old);
    allocation_leave();
    return result;
}

INTERPOSED void *realloc(void *pointer, size_t size)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    return reallocate(pointer, size, &caller);
}

INTERPOSED void *reallocarray(void *pointer, size_t count, size_t size)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? missing()
                                                       : reallocate(pointer, bytes, &caller);
}

INTERPOSED void *mmap(void *address, size_t length, int protection, int flags, int descriptor,
                      off_t offset)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    if (!know_real())
        return MAP_FAILED;
    if (!enter(&caller))
        return real.mmap(address, length, protection, flags, descriptor, offset);
    void *start = real.mmap(address, length, protection, flags, descriptor, offset);
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
    const uint64_t stack_pointer = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    if (!know_real())
        return -1;
    if (!atomic_load_explicit(&allocation_following, memory_order_relaxed) ||
        !allocation_enter(stack_pointer))
        return real.munmap(address, length);
    mapping_goes(address, length);
    const int result = real.munmap(address, length);
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
    if (!know_real())
        return MAP_FAILED;
    if (!enter(&caller))
        return real.mremap(address, length, new_length, flags, wanted);
    /* Held, so that nobody's new mapping in the old place is taken for what moved away. */
    mapping_hold();
    void *start = real.mremap(address, length, new_length, flags, wanted);
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
