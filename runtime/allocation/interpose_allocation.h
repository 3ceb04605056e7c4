/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target's heap and mappings, as data objects.
 *
 * Wrappers of malloc, calloc, realloc, reallocarray, free, cfree, memalign, posix_memalign,
 * aligned_alloc, valloc, pvalloc, mmap, mmap64, munmap and mremap remember blocks with the site
 * that made them: of those below 4 KiB a sample with known probabilities, and all larger ones
 * as long as that is cheap, else a sample (objects/block_choice.h). A site is a calling context
 * together with the function called (enum allocator). The target sees the same pointers, sizes,
 * alignment and errno as without us; nothing of ours is allocated from its heap.
 *
 * - A block that realloc or mremap returns belongs to the site of that call, moved or not: a
 * container that grows is named by where it grows, and its old site's block has ended.
 * - Allocations made inside the allocator, or from a signal handler that interrupts one of our
 *   wrappers, pass through untracked.
 * - Pages are tracked at 4 KiB and small blocks exactly; the cost in memory is in block_map.h.
 *
 * All functions below are safe in threads; those marked so are also signal-safe.
 */
#ifndef REUSE_RUNTIME_INTERPOSE_ALLOCATION_H
#define REUSE_RUNTIME_INTERPOSE_ALLOCATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objects/block_map.h"
#include "objects/context_tree.h"
#include "objects/layers.h"
#include "profile/format.h"

/* The site of blocks whose own site found no number any more. Announced first. */
enum { ALLOCATION_SITE_OTHER = 1 };

struct allocation_mapping {
    uint64_t start, end; /* whole pages */
    uint64_t offset;
    uint32_t site_id;
    int protection, flags; /* as given to mmap; mremap: 0 */
    int descriptor;        /* -1: anonymous, or unknown (mremap) */
};

/*
 * Called in the thread that allocates, outside the real allocator, with our own tracking switched
 * off for the duration of the call. They must not allocate from the target's heap and must keep
 * errno; they may be interrupted by our signal handlers, so they follow the rules for code in
 * these. NULL: not wanted.
 */
struct allocation_hooks {
    void *user;

    /* A site got its number, before any block of it can be found. name is "" unless given by the
     * API. */
    void (*new_site)(void *user, uint32_t site_id, uint32_t context_id, enum allocator allocator,
                     const char *name);

    /* mmap or mremap succeeded. */
    void (*new_mapping)(void *user, const struct allocation_mapping *mapping);

    /*
     * Memory goes back to the system: pages were unmapped, or a heap block of 128 KiB or more is
     * about to be released or was moved by realloc. One of the watched addresses may lie in it
     * (false alarms possible). See allocation_watch().
     */
    void (*released)(void *user, uint64_t base, uint64_t size);

    /*
     * Every change of the maps, for who keeps a copy of them: a block is found from now on, or no
     * longer. is_new: it was allocated or named just now; else it is what is left of a block, or
     * one that comes back because realloc failed. Blocks that found no room are not told.
     */
    void (*inserted)(void *user, enum object_layer layer, const struct block *block, bool is_new);
    void (*removed)(void *user, enum object_layer layer, uint64_t base);

    /* A clock in ns, and what the calling thread has spent by it on one block that is tracked: at
     * most 50 us, for it may have been made to wait. */
    uint64_t (*clock)(void);
    void (*spent)(void *user, uint64_t ns);
};

struct allocation_options {
    struct context_tree *contexts; /* where calling contexts get their numbers */
    struct allocation_hooks hooks;
    uint64_t block_bytes_max; /* budget of the block maps, bytes; 0: 256 MiB */
    bool every_block;         /* else a sample of them (block_choice.h) */
    uint64_t seed;            /* of that sample */
};

/*
 * Starts tracking; blocks allocated before stay untracked. To be called once, when the hooks are
 * ready. False when memory for it could not be had: the target's calls then pass through.
 */
bool allocation_begin(const struct allocation_options *);

/* Stops and restarts the tracking of new blocks. Releases are followed all the time. Signal-safe.
 */
void allocation_pause(void);
void allocation_resume(void);

/* No hook is called any more after this, save for those already running. Signal-safe. */
void allocation_end(void);

/*
 * To be called by each thread that ends, as late as possible: gives its caches back (to a pool of
 * ALLOCATION_THREADS_MAX; beyond, or without this call, threads allocate more slowly).
 */
void allocation_thread_end(void);
enum { ALLOCATION_THREADS_MAX = 1024 };

/*
 * In the child of a fork, before it runs on: forgets the other threads, sets the totals of all
 * sites to zero (live bytes stay). Sites keep their numbers; allocation_each_site announces them to
 * a new file.
 */
void allocation_fork_child(void);

/* Calls `site` for every site so far, in the order of their numbers, with names. Signal-safe. */
void allocation_each_site(void (*site)(void *user, uint32_t site_id, uint32_t context_id,
                                       enum allocator allocator, const char *name),
                          void *user);

/*
 * Totals of every site that has or had blocks (in the child of a fork also those whose blocks it
 * only inherited), what threads have not yet added up included. What blocks of a sample contribute
 * is estimated from those that are tracked. live_bytes_peak is exact to within 16 KiB per thread
 * beside that: threads add up small blocks in batches. Signal-safe.
 */
void allocation_site_totals(void (*totals)(void *user, const struct record_site_totals *),
                            void *user);

/*
 * The heap block, named object or mapping that contains the address: OBJECT_HEAP, OBJECT_NAMED,
 * OBJECT_MAPPING with *block filled in; OBJECT_HEAP_UNTRACKED with *block zeroed for addresses in
 * the heap that are in no block we know. block->tracked_log2 tells what an access to it weighs.
 * False when it is none of these. Signal-safe, wait-free.
 */
bool allocation_find(uint64_t address, struct block *block, enum object_kind *kind);

/* Whether parts of blocks, mappings or globals have names of their own. Signal-safe. */
bool allocation_has_parts(void);

/*
 * Whether heap blocks lie within 2 MiB of an address that nothing else is known of: it is most
 * likely in a block that is not tracked. Signal-safe, wait-free.
 */
bool allocation_is_near_heap(uint64_t address);

/*
 * Gives an object its name. [pointer, pointer + size) is a heap block or mapping, which then is
 * that object until it is released, or a part of one or of anything else. caller: where the API was
 * called. size 0 takes the name of a part away again. False when there is no room.
 */
struct unwind_start;
bool allocation_name(const void *pointer, size_t size, const char *name,
                     const struct unwind_start *caller);

/*
 * Addresses whose release the sampler wants to hear of. One call each per watch; nested watches of
 * an address count. Signal-safe, wait-free.
 */
void allocation_watch(uint64_t address);
void allocation_unwatch(uint64_t address);

struct allocation_statistics {
    uint64_t untracked_blocks;   /* no room in the map, or an address that it cannot hold */
    uint64_t other_blocks;       /* attributed to ALLOCATION_SITE_OTHER */
    uint64_t node_bytes;         /* memory of the block maps */
    uint64_t frames_walked;      /* on the ways to sites */
    uint64_t contexts_shortened; /* of these: cut to 8, 4 or 1 frames, to bound the cost */
};
void allocation_statistics(struct allocation_statistics *);

#endif
