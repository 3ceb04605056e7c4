/* SPDX-License-Identifier: BSD-3-Clause */
/* See heap.h. */
#include "heap.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "guest_memory.h"
#include "objects.h"
#include "objects/context_tree.h"
#include "objects/doorbell.h"

enum {
    CONTEXTS_MAX = 1 << 18,
    /* Blocks of at least so many bytes change objects_epoch() when they come and go. */
    LARGE = 32768,
};

struct context {
    uint32_t parent;
    uint64_t ip;
};

struct site {
    uint32_t context;
    uint32_t allocator; /* 0: not told yet */
    char *name;         /* NULL: none */
    bool named;         /* atomic; has or had a name */
    bool written;
    uint64_t blocks, bytes, largest, live, live_peak;
};

uint32_t heap_version_value;

static struct block_map *maps[LAYER_COUNT]; /* created by the first message; atomic */
static struct site *sites; /* by number; allocated with the maps, under lock but for `named` */

/* Blocks of the allocator lie in mappings that are told, too; atomic. */
static bool blocks_in_mappings;
static uint64_t parts; /* in use; atomic */

/* Everything below is under `lock`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context_tree *tree;
static struct context *contexts; /* by number - 1 */
static uint32_t context_count, site_count, contexts_written;

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
    void *tree_memory = pages(NULL, context_tree_size(CONTEXTS_MAX));
    struct block_map *fresh[LAYER_COUNT];
    contexts = pages(NULL, CONTEXTS_MAX * sizeof *contexts);
    sites = pages(NULL, (BLOCK_SITE_MAX + 1) * sizeof *sites);
    bool whole = tree_memory != NULL && contexts != NULL && sites != NULL;
    for (unsigned layer = 0; layer < LAYER_COUNT && whole; layer++) {
        void *memory = pages(NULL, block_map_size());
        fresh[layer] = memory != NULL ? block_map_create(memory, pages, NULL) : NULL;
        whole = fresh[layer] != NULL;
    }
    if (!whole)
        return false;
    tree = context_tree_create(tree_memory, CONTEXTS_MAX, note_context, NULL);
    for (unsigned layer = LAYER_COUNT; layer-- > 0;)
        __atomic_store_n(&maps[layer], fresh[layer], __ATOMIC_RELEASE);
    return true;
}

/* Ranges given out for small blocks may no longer hold, nor may those of `size` bytes. */
static void changed(uint64_t size)
{
    __atomic_add_fetch(&heap_version_value, 1, __ATOMIC_RELEASE);
    if (size >= LARGE)
        objects_new_epoch();
}

/* A copy of a name; NULL when there is none. */
static char *read_name(uint64_t address)
{
    char name[DOORBELL_NAME_MAX];
    if (address == 0 || !guest_memory_text(address, name, sizeof name) || name[0] == '\0')
        return NULL;
    return strdup(name);
}

void heap_site(uint64_t number, uint64_t allocator, uint64_t frames, uint64_t frame_count,
               uint64_t name)
{
    uint64_t ips[DOORBELL_FRAMES_MAX];
    if (frame_count > DOORBELL_FRAMES_MAX)
        frame_count = DOORBELL_FRAMES_MAX;
    if (!guest_memory_read(frames, ips, frame_count * sizeof *ips))
        frame_count = 0;
    char *text = read_name(name);
    pthread_mutex_lock(&lock);
    if (number >= 1 && number <= BLOCK_SITE_MAX && (tree != NULL || start())) {
        struct site *site = &sites[number];
        free(site->name);
        site->context = context_tree_intern(tree, ips, frame_count);
        site->allocator = (uint32_t)allocator;
        site->name = text;
        __atomic_store_n(&site->named, text != NULL && allocator == ALLOCATOR_API,
                         __ATOMIC_RELEASE);
        text = NULL;
        if (number > site_count)
            site_count = (uint32_t)number;
    }
    pthread_mutex_unlock(&lock);
    free(text);
}

void heap_inserted(uint64_t layer, const struct block *block, bool is_new)
{
    struct block mapping;
    pthread_mutex_lock(&lock);
    if (layer < LAYER_COUNT && maps[LAYER_PART] != NULL && block->site >= 1 &&
        block->site <= site_count && block_map_insert(maps[layer], block)) {
        struct site *totals = &sites[block->site];
        totals->live += block->size;
        if (totals->live > totals->live_peak)
            totals->live_peak = totals->live;
        totals->blocks += is_new;
        totals->bytes += is_new ? block->size : 0;
        if (is_new && block->size > totals->largest)
            totals->largest = block->size;
        uint64_t stirs = layer == LAYER_PART ? UINT64_MAX : block->size;
        if (layer == LAYER_PART)
            __atomic_add_fetch(&parts, 1, __ATOMIC_RELEASE);
        if (layer == LAYER_HEAP && !blocks_in_mappings &&
            block_map_find(maps[LAYER_MAPPING], block->base, &mapping)) {
            __atomic_store_n(&blocks_in_mappings, true, __ATOMIC_RELEASE);
            stirs = UINT64_MAX;
        }
        changed(stirs);
    }
    pthread_mutex_unlock(&lock);
}

void heap_removed(uint64_t layer, uint64_t address)
{
    struct block block;
    pthread_mutex_lock(&lock);
    if (layer < LAYER_COUNT && maps[LAYER_PART] != NULL &&
        block_map_remove(maps[layer], address, &block)) {
        sites[block.site].live -= block.size;
        if (layer == LAYER_PART)
            __atomic_sub_fetch(&parts, 1, __ATOMIC_RELEASE);
        changed(layer == LAYER_PART ? UINT64_MAX : block.size);
    }
    pthread_mutex_unlock(&lock);
}

bool heap_is_told(void)
{
    return __atomic_load_n(&maps[LAYER_PART], __ATOMIC_ACQUIRE) != NULL;
}

enum object_kind heap_find(uint64_t address, struct block *block, bool *lasting)
{
    enum object_kind kind;
    *lasting = false;
    if (!heap_is_told())
        return OBJECT_UNKNOWN;
    bool whole = __atomic_load_n(&parts, __ATOMIC_ACQUIRE) == 0;
    if (!whole && block_map_find(maps[LAYER_PART], address, block)) {
        kind = OBJECT_NAMED;
        whole = true;
    } else if (block_map_find(maps[LAYER_HEAP], address, block)) {
        kind = OBJECT_HEAP;
    } else if (block_map_page_seen(maps[LAYER_HEAP], address)) {
        *block = (struct block){0};
        return OBJECT_HEAP_UNTRACKED;
    } else if (block_map_find(maps[LAYER_MAPPING], address, block)) {
        kind = OBJECT_MAPPING;
        whole = whole && !__atomic_load_n(&blocks_in_mappings, __ATOMIC_ACQUIRE);
    } else {
        return OBJECT_UNKNOWN;
    }
    if (!whole) /* parts or blocks may lie in it: only what can hold no other is sure */
        *block = (struct block){.base = address & ~UINT64_C(7), .size = 8, .site = block->site};
    *lasting = whole && (block->size >= LARGE || kind == OBJECT_NAMED);
    return __atomic_load_n(&sites[block->site].named, __ATOMIC_ACQUIRE) ? OBJECT_NAMED : kind;
}

size_t heap_site_frames(uint32_t number, uint64_t *frames, size_t max, char *name)
{
    size_t n = 0;
    name[0] = '\0';
    pthread_mutex_lock(&lock);
    if (number >= 1 && number <= site_count) {
        const struct site *site = &sites[number];
        if (site->name != NULL)
            snprintf(name, DOORBELL_NAME_MAX, "%s", site->name);
        for (uint32_t at = site->context; at != 0 && at <= context_count && n < max;
             at = contexts[at - 1].parent)
            frames[n++] = contexts[at - 1].ip;
    }
    pthread_mutex_unlock(&lock);
    return n;
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
    for (uint32_t i = 1; i <= site_count; i++) {
        struct site *site = &sites[i];
        const char *name = site->name != NULL ? site->name : "";
        struct record_site record = {
            .site_id = i, .context_id = site->context, .allocator = (uint16_t)site->allocator};
        if (site->blocks == 0)
            continue;
        if (!site->written)
            profile_writer_append(writer, RECORD_SITE, &record, sizeof record, name,
                                  strlen(name) + 1, now_ns);
        site->written = true;
        struct record_site_totals totals = {.site_id = i,
                                            .blocks = site->blocks,
                                            .bytes = site->bytes,
                                            .largest_bytes = site->largest,
                                            .live_bytes_peak = site->live_peak};
        profile_writer_append(writer, RECORD_SITE_TOTALS, &totals, sizeof totals, NULL, 0, now_ns);
    }
    pthread_mutex_unlock(&lock);
}

void heap_after_fork(void)
{
    pthread_mutex_init(&lock, NULL);
    contexts_written = 0;
    for (uint32_t i = 1; i <= site_count; i++)
        sites[i].written = false;
}
