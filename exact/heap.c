/* SPDX-License-Identifier: BSD-3-Clause */
/* See heap.h. */
#include "heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "guest_memory.h"
#include "objects.h"
#include "objects/block_map.h"
#include "objects/context_tree.h"
#include "objects/doorbell.h"

enum { CONTEXTS_MAX = 1 << 18, SITE_INDEX = 1 << 18 };

struct context {
    uint32_t parent;
    uint64_t ip;
};

struct site {
    uint32_t context;
    uint32_t allocator;
    uint64_t blocks, bytes, largest, live, live_peak;
};

static struct block_map *map; /* created by the first message; atomic */

/* Everything below is under `lock`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context_tree *tree;
static struct context *contexts; /* by number - 1 */
static struct site *sites;       /* by number - 1 */
static uint32_t *site_index;     /* hash of context and allocator -> number */
static uint32_t context_count, site_count, contexts_written, sites_written;

static void *pages(void *context, size_t bytes)
{
    (void)context;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void note_context(void *user, uint32_t number, uint32_t parent, uint64_t ip)
{
    (void)user;
    if (number <= CONTEXTS_MAX)
        contexts[number - 1] = (struct context){parent, ip};
    if (number > context_count)
        context_count = number;
}

/* Under lock. */
static bool start(void)
{
    void *map_memory = pages(NULL, block_map_size());
    void *tree_memory = pages(NULL, context_tree_size(CONTEXTS_MAX));
    contexts = pages(NULL, CONTEXTS_MAX * sizeof *contexts);
    sites = pages(NULL, BLOCK_SITE_MAX * sizeof *sites);
    site_index = pages(NULL, SITE_INDEX * sizeof *site_index);
    if (map_memory == NULL || tree_memory == NULL || contexts == NULL || sites == NULL ||
        site_index == NULL)
        return false;
    tree = context_tree_create(tree_memory, CONTEXTS_MAX, note_context, NULL);
    __atomic_store_n(&map, block_map_create(map_memory, pages, NULL), __ATOMIC_RELEASE);
    return true;
}

/* Number of the site; 0 when there are too many. Under lock. */
static uint32_t site_of(uint32_t context, uint32_t allocator)
{
    uint64_t hash = ((uint64_t)context << 8 | allocator) * 0x9e3779b97f4a7c15u;
    for (uint64_t i = hash >> 32;; i++) {
        uint32_t *slot = &site_index[i % SITE_INDEX];
        if (*slot == 0) {
            if (site_count == BLOCK_SITE_MAX)
                return 0;
            sites[site_count] = (struct site){.context = context, .allocator = allocator};
            return *slot = ++site_count;
        }
        if (sites[*slot - 1].context == context && sites[*slot - 1].allocator == allocator)
            return *slot;
    }
}

void heap_allocated(uint64_t address, uint64_t size, uint32_t allocator, uint64_t frames,
                    uint64_t frame_count)
{
    uint64_t ips[DOORBELL_FRAMES_MAX];
    if (frame_count > DOORBELL_FRAMES_MAX)
        frame_count = DOORBELL_FRAMES_MAX;
    if (!guest_memory_read(frames, ips, frame_count * sizeof *ips))
        frame_count = 0;
    pthread_mutex_lock(&lock);
    if (map != NULL || start()) {
        uint32_t site = site_of(context_tree_intern(tree, ips, frame_count), allocator);
        if (site != 0 && block_map_insert(map, address, size, site)) {
            struct site *totals = &sites[site - 1];
            totals->blocks++;
            totals->bytes += size;
            totals->live += size;
            totals->largest = size > totals->largest ? size : totals->largest;
            totals->live_peak = totals->live > totals->live_peak ? totals->live : totals->live_peak;
        }
        if (size >= HEAP_LARGE)
            objects_new_epoch();
    }
    pthread_mutex_unlock(&lock);
}

void heap_freed(uint64_t address)
{
    struct block block;
    pthread_mutex_lock(&lock);
    if (map != NULL && block_map_remove(map, address, &block)) {
        sites[block.site - 1].live -= block.size;
        if (block.size >= HEAP_LARGE)
            objects_new_epoch();
    }
    pthread_mutex_unlock(&lock);
}

bool heap_is_told(void)
{
    return __atomic_load_n(&map, __ATOMIC_ACQUIRE) != NULL;
}

bool heap_find(uint64_t address, uint32_t *site, uint64_t *low, uint64_t *size)
{
    struct block block;
    const struct block_map *blocks = __atomic_load_n(&map, __ATOMIC_ACQUIRE);
    if (blocks == NULL || !block_map_find(blocks, address, &block))
        return false;
    *site = block.site;
    *low = block.base;
    *size = block.size;
    return true;
}

void heap_write(struct profile_writer *writer, uint64_t now_ns)
{
    pthread_mutex_lock(&lock);
    for (; contexts_written < context_count && contexts_written < CONTEXTS_MAX;
         contexts_written++) {
        struct record_context record = {.context_id = contexts_written + 1,
                                        .parent_id = contexts[contexts_written].parent,
                                        .ip = contexts[contexts_written].ip};
        profile_writer_append(writer, RECORD_CONTEXT, &record, sizeof record, NULL, 0, now_ns);
    }
    for (; sites_written < site_count; sites_written++) {
        struct record_site record = {.site_id = sites_written + 1,
                                     .context_id = sites[sites_written].context,
                                     .allocator = (uint16_t)sites[sites_written].allocator};
        profile_writer_append(writer, RECORD_SITE, &record, sizeof record, "", 1, now_ns);
    }
    for (uint32_t i = 0; i < site_count; i++) {
        struct record_site_totals record = {.site_id = i + 1,
                                            .blocks = sites[i].blocks,
                                            .bytes = sites[i].bytes,
                                            .largest_bytes = sites[i].largest,
                                            .live_bytes_peak = sites[i].live_peak};
        profile_writer_append(writer, RECORD_SITE_TOTALS, &record, sizeof record, NULL, 0, now_ns);
    }
    pthread_mutex_unlock(&lock);
}

void heap_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    contexts_written = 0;
    sites_written = 0;
}
