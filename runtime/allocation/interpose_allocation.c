/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers of the allocation family. Each calls the real function exactly once with the
 * target's own arguments and returns what it returned; tracking happens before or after that, never
 * around it.
 *
 * Most calls concern small blocks that are not tracked. For these malloc, calloc and free do no
 * more than to find that out, and jump: no frame, no mark, one load that may miss the cache.
 *
 * They work from the first instruction of the process on, long before allocation_begin(): the
 * loader and other libraries' constructors allocate. While the real functions are being looked up,
 * the start-up arena serves. What the allocator itself maps passes through.
 */
#include "allocation/interpose_allocation.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "allocation/allocation_objects.h"
#include "allocation/allocation_thread.h"
#include "interposition/interpose.h"
#include "unwinding/unwind.h"

static void *first_malloc(size_t size);
static void *first_calloc(size_t count, size_t size);
static void first_free(void *pointer);

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
    size_t (*usable_size)(void *);           /* malloc_usable_size of the same allocator, or NULL */
    uint64_t allocator_start, allocator_end; /* of the object that has the real malloc */
} real = {.malloc = first_malloc, .calloc = first_calloc, .free = first_free};

/* What we must know of the object that the allocator is part of. */
static void look_at_allocator(void *real_malloc)
{
    struct dl_find_object allocator, other;
    void *usable_size = interpose_real("malloc_usable_size");
    if (real_malloc == NULL || _dl_find_object(real_malloc, &allocator) != 0)
        return;
    real.allocator_start = (uint64_t)(uintptr_t)allocator.dlfo_map_start;
    real.allocator_end = (uint64_t)(uintptr_t)allocator.dlfo_map_end;
    /* Of another allocator it would not know the blocks. */
    if (usable_size != NULL && _dl_find_object(usable_size, &other) == 0 &&
        other.dlfo_link_map == allocator.dlfo_link_map)
        *(void **)&real.usable_size = usable_size;
}

static __attribute__((noinline)) bool look_up_real(void)
{
    if (interpose_is_resolving())
        return false;
    void *const next_malloc = interpose_real("malloc"),
                *const next_calloc = interpose_real("calloc"),
                *const next_free = interpose_real("free");
#define LOOK_UP(name) *(void **)&real.name = interpose_real(#name)
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
    *(void **)&real.malloc = next_malloc;
    *(void **)&real.calloc = next_calloc;
    *(void **)&real.free = next_free;
    atomic_store_explicit(&real.known, true, memory_order_release);
    return true;
}

/* False while this very thread is looking them up. */
static inline bool know_real(void)
{
    return __builtin_expect(atomic_load_explicit(&real.known, memory_order_acquire), 1) ||
           look_up_real();
}

/* Whether calls from there are followed; if so, allocation_leave() ends what follows. */
static inline bool enter(uint64_t stack_pointer)
{
    return atomic_load_explicit(&allocation_following, memory_order_relaxed) &&
           allocation_enter(stack_pointer);
}

/* Pages of the allocator's own, which the target sees as blocks. */
static inline bool is_allocator(const struct unwind_start *caller)
{
    return caller->ip - real.allocator_start < real.allocator_end - real.allocator_start;
}

/* The block that the real function returned to the caller. */
static void came(void *pointer, size_t size, enum allocator allocator,
                 const struct unwind_start *caller)
{
    if (allocation_passes_over(caller->ip, caller->stack_pointer, size) ||
        !enter(caller->stack_pointer))
        return;
    const uint64_t since = allocation_clock();
    allocation_came(pointer, size, allocator, caller);
    allocation_spent(since);
    allocation_leave();
}

/* What frees and moves blocks stays: those that came before go to where they came from. */
void interpose_allocation_forget_real(void)
{
    real.malloc = first_malloc;
    real.calloc = first_calloc;
    atomic_store_explicit(&real.known, false, memory_order_release);
}

static void *from_arena(size_t alignment, size_t size)
{
    void *pointer = interpose_arena_allocate(alignment < 16 ? 16 : alignment, size);
    if (pointer == NULL)
        errno = ENOMEM;
    else
        release_filter_keep(&allocation_filter, (uint64_t)(uintptr_t)pointer);
    return pointer;
}

static void *missing(void)
{
    errno = ENOMEM;
    return NULL;
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
    void *pointer = real.malloc(size);
    came(pointer, size, ALLOCATOR_MALLOC, &caller);
    return pointer;
}

INTERPOSED void *malloc(size_t size)
{
    if (PASSES_OVER(size))
        return real.malloc(size);
    return malloc_tracked(size, (uint64_t)(uintptr_t)__builtin_dwarf_cfa());
}

static void *first_malloc(size_t size)
{
    return know_real() ? real.malloc(size) : from_arena(16, size);
}

static __attribute__((noinline)) void *calloc_tracked(size_t count, size_t size, uint64_t cfa)
{
    const struct unwind_start caller = START_OF_WRAPPERS_CALLER(cfa);
    void *pointer = real.calloc(count, size);
    came(pointer, count * size, ALLOCATOR_CALLOC, &caller);
    return pointer;
}

INTERPOSED void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes) && PASSES_OVER(bytes))
        return real.calloc(count, size);
    return calloc_tracked(count, size, (uint64_t)(uintptr_t)__builtin_dwarf_cfa());
}

static void *first_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (know_real())
        return real.calloc(count, size);
    return __builtin_mul_overflow(count, size, &bytes) ? missing() : from_arena(16, bytes);
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
        const int saved_errno = errno;
        void *block = from_arena(alignment, size);
        errno = saved_errno;
        if (block == NULL)
            return ENOMEM;
        *pointer = block;
        return 0;
    }
    const int result = real.posix_memalign(pointer, alignment, size);
    if (result == 0)
        came(*pointer, size, ALLOCATOR_POSIX_MEMALIGN, &caller);
    return result;
}

/* Of a block that is followed, not of the arena: whether anybody is to be told when it goes. */
static inline bool is_release_of_interest(void *pointer)
{
    const uint64_t base = (uint64_t)(uintptr_t)pointer;
    return release_filter_has_start(&allocation_filter, base) || real.usable_size == NULL ||
           release_filter_may_hold(&allocation_filter, base, real.usable_size(pointer));
}

/* Before the memory may be handed to another thread. */
static __attribute__((noinline)) void free_followed(void *pointer)
{
    const uint64_t stack_pointer = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
    if (pointer == NULL || interpose_arena_contains(pointer))
        return;
    if (is_release_of_interest(pointer) && enter(stack_pointer)) {
        const uint64_t since = allocation_clock();
        const struct allocation_going going = allocation_goes(pointer, real.usable_size);
        allocation_gone(&going);
        allocation_spent(since);
        allocation_leave();
    }
    real.free(pointer);
}

INTERPOSED void free(void *pointer)
{
    if (allocation_is_followed(pointer))
        free_followed(pointer);
    else
        real.free(pointer);
}

INTERPOSED void cfree(void *pointer) __attribute__((alias("free"), leaf, nothrow));

static void first_free(void *pointer)
{
    if (pointer != NULL && know_real())
        real.free(pointer);
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
        return pointer == NULL        ? from_arena(16, size)
               : real.realloc != NULL ? real.realloc(pointer, size)
                                      : missing();
    const bool followed = pointer != NULL && allocation_is_followed(pointer) &&
                          is_release_of_interest(pointer) && enter(caller->stack_pointer);
    struct allocation_going going;
    /* Out of the map before the memory may be handed to another thread. */
    if (followed) {
        going = allocation_goes(pointer, real.usable_size);
        allocation_leave();
    }
    void *result = real.realloc(pointer, size);
    if (!followed) {
        came(result, size, ALLOCATOR_REALLOC, caller);
    } else if (enter(caller->stack_pointer)) {
        const uint64_t since = allocation_clock();
        if (result != NULL || size == 0) /* realloc(pointer, 0) frees */
            allocation_moved(&going, result, size, ALLOCATOR_REALLOC, caller);
        else
            allocation_stayed(&going);
        allocation_spent(since);
        allocation_leave();
    }
    return result;
}

INTERPOSED void *realloc(void *pointer, size_t size)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    return reallocate(pointer, size, &caller);
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
    front_realloc();
}

INTERPOSED void *reallocarray(void *pointer, size_t count, size_t size)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return missing();
    /* An allocator that leaves this one to the C library, which asks realloc() as the program does.
     */
    void *(*front)(void *, size_t) = front_realloc();
    if (front != NULL)
        return front(pointer, bytes);
    return reallocate(pointer, bytes, &caller);
}

INTERPOSED void *mmap(void *address, size_t length, int protection, int flags, int descriptor,
                      off_t offset)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    if (!know_real())
        return MAP_FAILED;
    if (is_allocator(&caller) || !enter(caller.stack_pointer))
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
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    if (!know_real())
        return -1;
    unwind_forget_stacks((uintptr_t)address, (uintptr_t)address + length);
    if (is_allocator(&caller) || !enter(caller.stack_pointer))
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
    if (is_allocator(&caller) || !enter(caller.stack_pointer))
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
