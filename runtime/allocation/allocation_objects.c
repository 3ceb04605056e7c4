/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The maps of heap blocks, mappings and named parts, and what is done when something comes or goes.
 * Signal-safe, except allocation_begin().
 *
 * A lookup asks the named parts first, then the heap, then the mappings, since allocators keep
 * their blocks in mappings and programs their objects in blocks.
 */
#include "allocation/allocation_objects.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allocation/allocation_sites.h"
#include "allocation/allocation_thread.h"
#include "large_table.h"
#include "own/raw_call.h"

#include "signal_safe.h"

enum { PARTS_MAX = 1024, HEAP_UNKNOWN = 1 };

static const uint64_t default_block_bytes = UINT64_C(256) << 20;

struct part {
    uint64_t base, size;
};

/* Held with signals blocked: a handler of the target may leave by a jump, and never come back. */
struct lock {
    _Atomic bool held;
    unsigned long mask; /* of signals, before; belongs to who holds it */
};

/*
 * Set up by allocation_begin() and constant from then on, but for the atomics and what a lock
 * protects. A lock is only ever held between allocation_enter() and allocation_leave(), so never
 * taken twice by a thread.
 */
static struct {
    struct allocation_options options;
    struct block_map *maps[LAYER_COUNT];
    uint64_t page_bytes;
    _Atomic uint64_t heap_start; /* of the brk area, once asked for; HEAP_UNKNOWN */
    _Atomic uint64_t node_bytes_left;
    _Atomic bool paused;
    _Atomic bool has_tables;
    struct lock tables_lock;   /* of making them */
    struct lock mappings_lock; /* of changes to LAYER_MAPPING */
    struct lock parts_lock;    /* of changes to LAYER_PART and the list of parts */
    _Atomic uint32_t part_count;
    struct part part_list[PARTS_MAX];
} objects;

_Atomic bool allocation_following;
LARGE_TABLE struct release_filter allocation_filter;

/* Faults stay: blocked, they would kill. */
static const unsigned long signals_but_faults =
    ~(1UL << (SIGSEGV - 1) | 1UL << (SIGBUS - 1) | 1UL << (SIGILL - 1) | 1UL << (SIGFPE - 1));

static void lock(struct lock *lock)
{
    unsigned long before = 0;

    raw_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&signals_but_faults, (long)&before, sizeof before,
             0, 0);
    while (atomic_exchange_explicit(&lock->held, true, memory_order_acquire))
        sched_yield();
    lock->mask = before;
}

static void unlock(struct lock *lock)
{
    const unsigned long before = lock->mask;

    atomic_store_explicit(&lock->held, false, memory_order_release);
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
}

static void *obtain(size_t bytes)
{
    const int saved_errno = errno;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved_errno;
    return memory == MAP_FAILED ? NULL : memory;
}

static void *obtain_nodes(void *context, size_t bytes)
{
    (void)context;
    uint64_t left = atomic_load_explicit(&objects.node_bytes_left, memory_order_relaxed);
    do {
        if (left < bytes)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&objects.node_bytes_left, &left, left - bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return obtain(bytes);
}

/* Start of the brk area: the 47th field of /proc/self/stat (proc(5)), 0 when it cannot be read.
 * Not read at start-up: most short programs are never asked for it. System calls by number: the C
 * library's functions are places where a thread is cancelled, and this runs in handlers. */
static uint64_t read_heap_start(void)
{
    char text[1024];
    const long descriptor = syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return 0;
    const long length = syscall(SYS_read, descriptor, text, sizeof text - 1);
    syscall(SYS_close, descriptor);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    /* The second field is the name in parentheses and may hold blanks. */
    const char *at = strrchr(text, ')');
    for (unsigned field = 2; at != NULL && field < 47; field++) {
        at = strchr(at, ' ');
        at = at == NULL ? NULL : at + 1;
    }
    uint64_t start = 0;
    for (; at != NULL && *at >= '0' && *at <= '9'; at++)
        start = start * 10 + (uint64_t)(*at - '0');
    return start;
}

static bool is_brk_area(uint64_t address)
{
    uint64_t start = atomic_load_explicit(&objects.heap_start, memory_order_relaxed);

    if (start == 0) {
        const int saved_errno = errno;
        start = read_heap_start();
        if (start == 0)
            start = HEAP_UNKNOWN;
        atomic_store_explicit(&objects.heap_start, start, memory_order_relaxed);
        errno = saved_errno;
    }
    return start != HEAP_UNKNOWN && address >= start && address < (uint64_t)(uintptr_t)sbrk(0);
}

/* For the first block that is tracked: seven pages, megabytes apart, and many a short process
 * tracks none. Until then the maps are memory of zeros, which is an empty map. */
static __attribute__((noinline)) void make_tables(void)
{
    lock(&objects.tables_lock);
    if (!atomic_load_explicit(&objects.has_tables, memory_order_relaxed)) {
        for (unsigned layer = 0; layer < LAYER_COUNT; layer++)
            block_map_create(objects.maps[layer], obtain_nodes, NULL);
        allocation_sites_make();
        atomic_store_explicit(&objects.has_tables, true, memory_order_release);
    }
    unlock(&objects.tables_lock);
}

static inline void need_tables(void)
{
    if (__builtin_expect(!atomic_load_explicit(&objects.has_tables, memory_order_acquire), 0))
        make_tables();
}

bool allocation_begin(const struct allocation_options *options)
{
    const int saved_errno = errno;
    objects.options = *options;
    atomic_store(&objects.node_bytes_left,
                 options->block_bytes_max != 0 ? options->block_bytes_max : default_block_bytes);
    thread_cache_seed(options->seed);
    objects.page_bytes = getauxval(AT_PAGESZ);
    /* One mapping: a short process makes and unmakes it. */
    const size_t map_bytes = (block_map_size() + objects.page_bytes - 1) & -objects.page_bytes;
    char *memory = obtain(LAYER_COUNT * map_bytes + allocation_sites_size());
    for (unsigned layer = 0; layer < LAYER_COUNT && memory != NULL; layer++)
        objects.maps[layer] = (struct block_map *)(memory + layer * map_bytes);
    if (memory != NULL)
        allocation_sites_begin(&objects.options, memory + LAYER_COUNT * map_bytes);
    const bool ready = memory != NULL;
    atomic_store_explicit(&allocation_following, ready, memory_order_release);
    errno = saved_errno;
    return ready;
}

uint64_t allocation_clock(void)
{
    const struct allocation_hooks *hooks = &objects.options.hooks;
    return hooks->clock == NULL ? 0 : hooks->clock();
}

void allocation_spent(uint64_t since)
{
    enum { LONGEST_NS = 50000 };
    const struct allocation_hooks *hooks = &objects.options.hooks;
    if (hooks->clock == NULL)
        return;
    const uint64_t spent = hooks->clock() - since;
    hooks->spent(hooks->user, spent < LONGEST_NS ? spent : LONGEST_NS);
}

/* False when there is no room. */
static bool insert(enum object_layer layer, const struct block *block, bool is_new)
{
    const struct allocation_hooks *hooks = &objects.options.hooks;
    /* Before the block is there, since another thread may release it then. */
    if (layer == LAYER_HEAP)
        release_filter_add(&allocation_filter, block->base);
    if (!block_map_insert(objects.maps[layer], block)) {
        if (layer == LAYER_HEAP)
            release_filter_remove(&allocation_filter, block->base);
        return false;
    }
    if (hooks->inserted != NULL && allocation_hooks_are_live())
        hooks->inserted(hooks->user, layer, block, is_new);
    return true;
}

/* Takes the block at base out; false if none was tracked there. */
static bool take_out(enum object_layer layer, uint64_t base, struct block *block)
{
    const struct allocation_hooks *hooks = &objects.options.hooks;
    if (!block_map_remove(objects.maps[layer], base, block))
        return false;
    if (layer == LAYER_HEAP)
        release_filter_remove(&allocation_filter, base);
    if (hooks->removed != NULL && allocation_hooks_are_live())
        hooks->removed(hooks->user, layer, base);
    return true;
}

void allocation_pause(void)
{
    atomic_store_explicit(&objects.paused, true, memory_order_relaxed);
}

void allocation_resume(void)
{
    atomic_store_explicit(&objects.paused, false, memory_order_relaxed);
}

/* Named parts. */

static uint64_t part_base(uint64_t address)
{
    return address & ~UINT64_C(7); /* small blocks start at multiples of 8 */
}

/* Forgets the parts that overlap [base, base + size). */
static void drop_parts(uint64_t base, uint64_t size)
{
    if (__builtin_expect(atomic_load_explicit(&objects.part_count, memory_order_relaxed) == 0, 1))
        return;
    lock(&objects.parts_lock);
    uint32_t count = atomic_load_explicit(&objects.part_count, memory_order_relaxed);
    for (uint32_t i = count; i-- > 0;) {
        const struct part *part = &objects.part_list[i];
        struct block removed;
        if (part->base >= base + size || base >= part->base + part->size)
            continue;
        if (take_out(LAYER_PART, part->base, &removed))
            allocation_site_went(&removed, removed.size);
        release_filter_unwatch(&allocation_filter, part->base);
        objects.part_list[i] = objects.part_list[--count];
    }
    atomic_store_explicit(&objects.part_count, count, memory_order_relaxed);
    unlock(&objects.parts_lock);
}

static bool add_part(uint64_t base, uint64_t size, uint32_t site)
{
    drop_parts(base, size);
    lock(&objects.parts_lock);
    const uint32_t count = atomic_load_explicit(&objects.part_count, memory_order_relaxed);
    const struct block part = {.base = base, .size = size, .site = site};
    const bool added = count < PARTS_MAX && insert(LAYER_PART, &part, true);
    if (added) {
        objects.part_list[count] = (struct part){.base = base, .size = size};
        release_filter_watch(&allocation_filter, base);
        atomic_store_explicit(&objects.part_count, count + 1, memory_order_relaxed);
    }
    unlock(&objects.parts_lock);
    return added;
}

/* Gives the block or mapping another site, if it is one as a whole. */
static bool rename_whole(enum object_layer layer, uint64_t base, uint64_t size, uint32_t site)
{
    struct block block;
    if (!block_map_find(objects.maps[layer], base, &block) || block.base != base ||
        size < block.size || !take_out(layer, base, &block))
        return false;
    allocation_site_went(&block, block.size);
    block.site = site;
    block.tracked_log2 = 0; /* tracked or not, what has a name would be found */
    const bool inserted = insert(layer, &block, true);
    allocation_site_came(&block, inserted ? block.size : 0);
    return inserted;
}

bool allocation_name(const void *pointer, size_t size, const char *name,
                     const struct unwind_start *caller)
{
    const uint64_t address = (uint64_t)(uintptr_t)pointer;
    if (!atomic_load_explicit(&allocation_following, memory_order_acquire) ||
        !allocation_enter(caller->stack_pointer))
        return false;
    bool named = true;
    if (size == 0) {
        drop_parts(address, 1);
    } else {
        need_tables();
        const uint32_t site = allocation_named_site(caller, name);
        named = site != 0;
        if (named && !rename_whole(LAYER_HEAP, address, size, site) &&
            !rename_whole(LAYER_MAPPING, address, mapping_length(size), site)) {
            const uint64_t base = part_base(address);
            named = add_part(base, size + (address - base), site);
            if (named)
                allocation_site_came(&(struct block){.base = address, .size = size, .site = site},
                                     size + (address - base));
        }
    }
    allocation_leave();
    return named;
}

/* Heap blocks. */

static void tell_released(uint64_t base, uint64_t size)
{
    drop_parts(base, size);
    const struct allocation_hooks *hooks = &objects.options.hooks;
    if (release_filter_may_hold(&allocation_filter, base, size) && hooks->released != NULL &&
        allocation_hooks_are_live())
        hooks->released(hooks->user, base, size);
}

void allocation_came(const void *pointer, size_t size, enum allocator allocator,
                     const struct unwind_start *caller)
{
    struct block block = {.base = (uint64_t)(uintptr_t)pointer, .size = size};
    const bool had_cache = thread_cache_own != NULL;
    struct thread_cache *cache = thread_cache_get();
    if (size < BLOCK_CHOICE_SMALL) {
        const unsigned place = block_choice_place(caller->ip, caller->stack_pointer, size);
        if (cache == NULL || objects.options.every_block)
            block_choice_leave(&thread_skips, place);
        else if (!had_cache && block_choice_passes_over(&thread_skips, place))
            return; /* the skips came with the cache */
        else
            block.tracked_log2 = (uint8_t)block_choice_take(&cache->choice, &thread_skips, place);
    }
    /* Only now: a choice that is not made would fall on the next block for certain. */
    if (pointer == NULL || atomic_load_explicit(&objects.paused, memory_order_relaxed))
        return;
    need_tables();
    block.site = allocation_site(caller, allocator, UINT32_C(1) << block.tracked_log2);
    const bool tracked = insert(LAYER_HEAP, &block, true);
    allocation_site_came(&block, !tracked ? 0 : size == 0 ? 1 : size);
}

struct allocation_going allocation_goes(void *pointer, size_t (*usable_size)(void *))
{
    const uint64_t base = (uint64_t)(uintptr_t)pointer;
    struct allocation_going going = {.block.base = base};
    going.tracked = take_out(LAYER_HEAP, base, &going.block);
    if (!going.tracked && usable_size != NULL &&
        release_filter_may_hold(&allocation_filter, base, 1))
        going.block.size = usable_size(pointer);
    return going;
}

void allocation_gone(const struct allocation_going *going)
{
    if (going->tracked)
        allocation_site_went(&going->block, going->block.size);
    if (going->block.size != 0)
        tell_released(going->block.base, going->block.size);
}

void allocation_moved(const struct allocation_going *going, const void *pointer, size_t size,
                      enum allocator allocator, const struct unwind_start *caller)
{
    const struct block *old = &going->block;
    const uint64_t base = (uint64_t)(uintptr_t)pointer;
    if (going->tracked)
        allocation_site_went(old, old->size);
    if (base != old->base && old->size != 0)
        tell_released(old->base, old->size);
    else if (base == old->base && size < old->size)
        tell_released(base + size, old->size - size);
    if (!allocation_passes_over(caller->ip, caller->stack_pointer, size))
        allocation_came(pointer, size, allocator, caller);
}

void allocation_stayed(const struct allocation_going *going)
{
    if (going->tracked)
        insert(LAYER_HEAP, &going->block, false);
}

/* Mappings. */

size_t mapping_length(size_t length)
{
    return (length + objects.page_bytes - 1) & ~(objects.page_bytes - 1);
}

/* Takes [start, end) out of what is known to be mapped; the caller holds the lock. */
static void carve(uint64_t start, uint64_t end)
{
    struct block block;
    while (block_map_next(objects.maps[LAYER_MAPPING], start, end, &block)) {
        const uint64_t block_end = block.base + block.size;
        const uint64_t cut_start = block.base > start ? block.base : start;
        const uint64_t cut_end = block_end < end ? block_end : end;
        if (!take_out(LAYER_MAPPING, block.base, &block))
            return;
        const struct block before = {
            .base = block.base, .size = cut_start - block.base, .site = block.site};
        const struct block after = {
            .base = cut_end, .size = block_end - cut_end, .site = block.site};
        if (before.size > 0)
            insert(LAYER_MAPPING, &before, false);
        if (after.size > 0)
            insert(LAYER_MAPPING, &after, false);
        allocation_site_went(&block, cut_end - cut_start);
    }
}

void mapping_hold(void)
{
    lock(&objects.mappings_lock);
}

void mapping_let_go(const void *old_start, size_t length)
{
    const uint64_t start = (uint64_t)(uintptr_t)old_start;
    const uint64_t bytes = mapping_length(length);
    /* Else the kernel refuses the call. */
    const bool valid = bytes != 0 && start % objects.page_bytes == 0;
    if (valid)
        carve(start, start + bytes);
    unlock(&objects.mappings_lock);
    if (valid)
        tell_released(start, bytes);
}

void mapping_goes(const void *start, size_t length)
{
    mapping_hold();
    mapping_let_go(start, length);
}

void mapping_came(const struct allocation_mapping *mapping, enum allocator allocator,
                  const struct unwind_start *caller)
{
    struct allocation_mapping described = *mapping;
    const bool paused = atomic_load_explicit(&objects.paused, memory_order_relaxed);
    const uint64_t bytes = mapping->end - mapping->start;
    need_tables();
    described.site_id = paused ? 0 : allocation_site(caller, allocator, 1);
    const struct block block = {.base = mapping->start, .size = bytes, .site = described.site_id};
    lock(&objects.mappings_lock);
    carve(mapping->start, mapping->end);
    const bool tracked = !paused && insert(LAYER_MAPPING, &block, true);
    unlock(&objects.mappings_lock);
    if (paused)
        return;
    allocation_site_came(&block, tracked ? bytes : 0);
    const struct allocation_hooks *hooks = &objects.options.hooks;
    if (hooks->new_mapping != NULL && allocation_hooks_are_live())
        hooks->new_mapping(hooks->user, &described);
}

/* Lookups, watches, the rest. */

bool allocation_find(uint64_t address, struct block *block, enum object_kind *kind)
{
    if (!atomic_load_explicit(&allocation_following, memory_order_acquire))
        return false;
    enum object_kind unnamed;
    if (atomic_load_explicit(&objects.part_count, memory_order_relaxed) != 0 &&
        block_map_find(objects.maps[LAYER_PART], address, block)) {
        unnamed = OBJECT_NAMED;
    } else if (block_map_find(objects.maps[LAYER_HEAP], address, block)) {
        unnamed = OBJECT_HEAP;
    } else if (block_map_page_seen(objects.maps[LAYER_HEAP], address) || is_brk_area(address)) {
        *block = (struct block){.base = 0};
        *kind = OBJECT_HEAP_UNTRACKED;
        return true;
    } else if (block_map_find(objects.maps[LAYER_MAPPING], address, block)) {
        unnamed = OBJECT_MAPPING;
    } else {
        return false;
    }
    *kind = allocation_site_is_named(block->site) ? OBJECT_NAMED : unnamed;
    return true;
}

bool allocation_has_parts(void)
{
    return atomic_load_explicit(&objects.part_count, memory_order_relaxed) != 0;
}

bool allocation_is_near_heap(uint64_t address)
{
    return atomic_load_explicit(&allocation_following, memory_order_acquire) &&
           block_map_near_small(objects.maps[LAYER_HEAP], address);
}

void allocation_watch(uint64_t address)
{
    release_filter_watch(&allocation_filter, address);
}

void allocation_unwatch(uint64_t address)
{
    release_filter_unwatch(&allocation_filter, address);
}

void allocation_thread_end(void)
{
    if (!atomic_load_explicit(&allocation_following, memory_order_acquire))
        return;
    allocation_sites_thread_end();
    thread_cache_release();
}

void allocation_fork_child(void)
{
    if (!atomic_load_explicit(&allocation_following, memory_order_acquire))
        return;
    /* Who held them is not in the child. */
    atomic_store(&objects.tables_lock.held, false);
    atomic_store(&objects.mappings_lock.held, false);
    atomic_store(&objects.parts_lock.held, false);
    allocation_sites_fork_child();
    thread_cache_fork_child();
}

void allocation_statistics(struct allocation_statistics *statistics)
{
    struct block_map_statistics map;
    struct allocation_sites_statistics sites;
    memset(statistics, 0, sizeof *statistics);
    if (!atomic_load_explicit(&allocation_following, memory_order_acquire))
        return;
    for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
        block_map_statistics(objects.maps[layer], &map);
        statistics->untracked_blocks += map.untracked;
        statistics->node_bytes += map.node_bytes;
    }
    allocation_sites_statistics(&sites);
    statistics->other_blocks = sites.other_blocks;
    statistics->frames_walked = sites.frames_walked;
    statistics->contexts_shortened = sites.contexts_shortened;
}
