/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of allocation sites, and their totals, summed up in batches per thread. Signal-safe.
 *
 * A site's number is that of the pair (context, allocator | index of its name << 16) in a tree of
 * its own.
 */
#include "allocation/allocation_sites.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "allocation/allocation_thread.h"
#include "large_table.h"

#include "signal_safe.h"

enum { NAMES_MAX = 1024, NAME_BYTES_MAX = 120, NAME_SHIFT = 16 };

/*
 * Walking stacks is bounded: a thread may walk one frame (some 10 to 30 ns) per four allocations,
 * and some more to begin with. While it is over that, a caller of the allocator whose contexts were
 * walked many times, because it is reached on ever new ways, gets shorter contexts from then on.
 * They say less, but nothing wrong. So do those of all callers while chosen blocks are dear
 * (block_choice.h): in a program that recurses nearly every context is a new one.
 */
enum {
    CALLERS = 4096,
    CALLER_PROBES = 4,
    CALLER_WALKS = 256,
    WALK_FRAMES = 3, /* less is a look at what the walk before has left */
    ALLOCATIONS_PER_FRAME = 4,
    FRAMES_IN_ADVANCE = 200000
};
static const uint8_t context_depths[] = {UNWIND_FRAMES_MAX, 8, 4, 1};

struct caller {
    _Atomic uint64_t ip;    /* 0: free */
    _Atomic uint32_t walks; /* at its present depth */
    _Atomic uint32_t stage; /* index into context_depths */
};

/* A name given through the API; written before its index is given out. */
struct name {
    _Atomic bool ready;
    char text[NAME_BYTES_MAX];
};

struct site_totals {
    _Atomic uint64_t blocks, bytes, largest;
    _Atomic int64_t live, live_peak;
};

static struct {
    const struct allocation_options *options;
    void *memory;
    _Atomic(struct context_tree *) tree; /* NULL: not made */
    struct site_totals *totals;          /* by site number */
    struct name *names;                  /* by index, 0 is "" */
    _Atomic uint32_t name_count;
    _Atomic bool ended; /* no hook is to be called any more */
    _Atomic uint64_t frames_walked, contexts_shortened;
    _Atomic uint32_t callers_shortened;
} sites;
static LARGE_TABLE struct caller callers[CALLERS];

static const char *name_of(uint64_t pair)
{
    return sites.names[pair >> NAME_SHIFT].text;
}

static void announce(void *user, uint32_t site_id, uint32_t context_id, uint64_t pair)
{
    (void)user;
    const struct allocation_hooks *hooks = &sites.options->hooks;
    if (hooks->new_site != NULL && !atomic_load_explicit(&sites.ended, memory_order_relaxed))
        hooks->new_site(hooks->user, site_id, context_id, (enum allocator)(pair & 0xffff),
                        name_of(pair));
}

/* Index of the name, which is cut to what fits; 0 when there is no room for another. */
static uint32_t name_index(const char *name)
{
    char text[NAME_BYTES_MAX] = {0};
    for (unsigned i = 0; i + 1 < sizeof text && name[i] != '\0'; i++)
        text[i] = name[i];
    const uint32_t count = atomic_load_explicit(&sites.name_count, memory_order_relaxed);
    for (uint32_t i = 0; i < count && i < NAMES_MAX; i++) {
        if (atomic_load_explicit(&sites.names[i].ready, memory_order_acquire) &&
            memcmp(sites.names[i].text, text, sizeof text) == 0)
            return i;
    }
    const uint32_t index = atomic_fetch_add_explicit(&sites.name_count, 1, memory_order_relaxed);
    if (index >= NAMES_MAX) {
        atomic_store_explicit(&sites.name_count, NAMES_MAX, memory_order_relaxed);
        return 0;
    }
    memcpy(sites.names[index].text, text, sizeof text);
    atomic_store_explicit(&sites.names[index].ready, true, memory_order_release);
    return index;
}

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

enum { TOTALS_BYTES = (BLOCK_SITE_MAX + 1) * sizeof(struct site_totals) };

size_t allocation_sites_size(void)
{
    return whole_lines(context_tree_size(BLOCK_SITE_MAX)) + whole_lines(TOTALS_BYTES) +
           NAMES_MAX * sizeof sites.names[0];
}

void allocation_sites_begin(const struct allocation_options *options, void *memory)
{
    char *totals = (char *)memory + whole_lines(context_tree_size(BLOCK_SITE_MAX));
    sites.memory = memory;
    sites.totals = (struct site_totals *)totals;
    sites.names = (struct name *)(totals + whole_lines(TOTALS_BYTES));
    sites.options = options;
}

void allocation_sites_make(void)
{
    /* A fork may have left them half made. */
    atomic_store_explicit(&sites.name_count, 0, memory_order_relaxed);
    name_index("");
    const uint64_t other = (uint64_t)name_index("other allocation sites") << NAME_SHIFT;
    struct context_tree *tree = context_tree_create(sites.memory, BLOCK_SITE_MAX, announce, NULL);
    context_tree_child(tree, 0, other | ALLOCATOR_MALLOC); /* ALLOCATION_SITE_OTHER */
    atomic_store_explicit(&sites.tree, tree, memory_order_release);
}

static struct context_tree *site_tree(void)
{
    return atomic_load_explicit(&sites.tree, memory_order_acquire);
}

static uint32_t site_count(void)
{
    const struct context_tree *tree = site_tree();
    return tree == NULL ? 0 : context_tree_count(tree);
}

/* The caller's element, or NULL when the table has no room near its place. */
static struct caller *find_caller(uint64_t ip)
{
    const uint64_t place = ip * UINT64_C(0x9e3779b97f4a7c15) >> 40; /* golden ratio */
    for (unsigned i = 0; i < CALLER_PROBES; i++) {
        struct caller *caller = &callers[(place + i) % CALLERS];
        uint64_t known = atomic_load_explicit(&caller->ip, memory_order_relaxed);
        if (known == ip || (known == 0 && (atomic_compare_exchange_strong_explicit(
                                               &caller->ip, &known, ip, memory_order_relaxed,
                                               memory_order_relaxed) ||
                                           known == ip)))
            return caller;
    }
    return NULL;
}

/* How many times the contexts of this caller have been cut. */
static uint32_t caller_stage(uint64_t ip)
{
    if (atomic_load_explicit(&sites.callers_shortened, memory_order_relaxed) == 0)
        return 0;
    const struct caller *caller = find_caller(ip);
    return caller == NULL ? 0 : atomic_load_explicit(&caller->stage, memory_order_relaxed);
}

/* How many frames of this call's context to take. */
static unsigned context_depth(uint64_t ip, bool dear)
{
    uint32_t stage = caller_stage(ip);
    if (stage == 0 && dear)
        stage = 1;
    if (stage > 0)
        atomic_fetch_add_explicit(&sites.contexts_shortened, 1, memory_order_relaxed);
    return context_depths[stage];
}

/* cache may be NULL. */
static void count_frames(struct thread_cache *cache, uint64_t ip, unsigned frames)
{
    atomic_fetch_add_explicit(&sites.frames_walked, frames, memory_order_relaxed);
    if (cache == NULL)
        return;
    cache->frames_walked += frames;
    if (frames < WALK_FRAMES ||
        cache->frames_walked <= cache->allocations / ALLOCATIONS_PER_FRAME + FRAMES_IN_ADVANCE)
        return;
    struct caller *caller = find_caller(ip);
    if (caller == NULL ||
        atomic_fetch_add_explicit(&caller->walks, 1, memory_order_relaxed) < CALLER_WALKS)
        return;
    const uint32_t stage = atomic_load_explicit(&caller->stage, memory_order_relaxed);
    if (stage + 1 < sizeof context_depths) {
        atomic_store_explicit(&caller->stage, stage + 1, memory_order_relaxed);
        atomic_store_explicit(&caller->walks, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&sites.callers_shortened, 1, memory_order_relaxed);
    }
}

static uint32_t context_by_walk(const struct unwind_start *caller, unsigned depth,
                                struct thread_cache *cache)
{
    uint64_t ips[UNWIND_FRAMES_MAX];
    const size_t n = unwind(caller, ips, depth);
    count_frames(cache, caller->ip, (unsigned)n);
    return context_tree_intern(sites.options->contexts, ips, n);
}

/* As context_tree_child() of the contexts. */
static uint32_t child_of(uint32_t parent, uint64_t ip, struct thread_cache *cache)
{
    const uint64_t place = (ip ^ (uint64_t)parent << 32) * UINT64_C(0x9e3779b97f4a7c15) >> 56;
    struct known_child *known = &cache->children[place % CHILDREN];
    if (known->context == 0 || known->ip != ip || known->parent != parent)
        *known = (struct known_child){.ip = ip,
                                      .parent = parent,
                                      .context =
                                          context_tree_child(sites.options->contexts, parent, ip)};
    return known->context;
}

/* Of the frames that the walk before had as well, the number is known. */
static uint32_t context_from_memory(const struct unwind_start *caller, struct thread_cache *cache)
{
    struct walk *walk = unwind_again(caller, &cache->walks);
    uint32_t context = 0;
    count_frames(cache, caller->ip, cache->walks.walked);
    for (unsigned i = walk->frames; i-- > 0;) {
        struct walk_frame *frame = &walk->frame[i];
        if (frame->context == 0)
            frame->context = child_of(context, frame->ip, cache);
        context = frame->context;
        if (context == 0)
            return 0;
    }
    return context;
}

/* cache may be NULL. */
static uint32_t site_of(const struct unwind_start *caller, uint64_t pair,
                        struct thread_cache *cache)
{
    const unsigned depth =
        cache == NULL ? UNWIND_FRAMES_MAX : context_depth(caller->ip, cache->choice.dear);
    const uint32_t context = cache == NULL || depth < UNWIND_FRAMES_MAX
                                 ? context_by_walk(caller, depth, cache)
                                 : context_from_memory(caller, cache);
    const uint32_t site = context == 0 ? 0 : context_tree_child(site_tree(), context, pair);
    return site == 0 ? ALLOCATION_SITE_OTHER : site;
}

uint32_t allocation_site(const struct unwind_start *caller, enum allocator allocator,
                         uint32_t stands_for)
{
    struct thread_cache *cache = thread_cache_get();
    if (cache != NULL)
        cache->allocations += stands_for;
    return site_of(caller, allocator, cache);
}

uint32_t allocation_named_site(const struct unwind_start *caller, const char *name)
{
    const uint64_t index = name_index(name);
    return index == 0 ? 0 : site_of(caller, index << NAME_SHIFT | ALLOCATOR_API, NULL);
}

bool allocation_site_is_named(uint32_t site)
{
    uint32_t context;
    uint64_t pair;
    context_tree_node(site_tree(), site, &context, &pair);
    return (pair & 0xffff) == ALLOCATOR_API;
}

/* Totals. */

static void raise_to(_Atomic uint64_t *maximum, uint64_t value)
{
    uint64_t old = atomic_load_explicit(maximum, memory_order_relaxed);
    while (old < value && !atomic_compare_exchange_weak_explicit(
                              maximum, &old, value, memory_order_relaxed, memory_order_relaxed))
        ;
}

static void add_to_totals(uint32_t site, uint64_t blocks, uint64_t bytes, uint64_t largest,
                          int64_t live)
{
    struct site_totals *totals = &sites.totals[site];
    if (blocks != 0) {
        atomic_fetch_add_explicit(&totals->blocks, blocks, memory_order_relaxed);
        atomic_fetch_add_explicit(&totals->bytes, bytes, memory_order_relaxed);
        raise_to(&totals->largest, largest);
    }
    const int64_t now = atomic_fetch_add_explicit(&totals->live, live, memory_order_relaxed) + live;
    int64_t peak = atomic_load_explicit(&totals->live_peak, memory_order_relaxed);
    while (peak < now &&
           !atomic_compare_exchange_weak_explicit(&totals->live_peak, &peak, now,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

#define GET(field) atomic_load_explicit(&batch->field, memory_order_relaxed)
#define SET(field, value) atomic_store_explicit(&batch->field, (value), memory_order_relaxed)

static void flush(struct batch *batch)
{
    const uint32_t site = GET(site);
    if (site == 0)
        return;
    add_to_totals(site, GET(blocks), GET(bytes), GET(largest), GET(live));
    SET(site, 0);
    SET(blocks, 0);
    SET(bytes, 0);
    SET(largest, 0);
    SET(live, 0);
}

static void count(uint32_t site, uint32_t blocks, uint64_t bytes, uint64_t largest, int64_t live)
{
    struct thread_cache *cache = thread_cache_get();
    if (cache == NULL) {
        add_to_totals(site, blocks, bytes, largest, live);
        return;
    }
    struct batch *batch = &cache->batches[site % BATCHES];
    if (GET(site) != site) {
        flush(batch);
        SET(site, site);
    }
    const uint32_t batch_blocks = GET(blocks) + blocks;
    const int64_t batch_live = GET(live) + live;
    SET(blocks, batch_blocks);
    SET(bytes, GET(bytes) + bytes);
    SET(live, batch_live);
    if (largest > GET(largest))
        SET(largest, largest);
    if (batch_blocks >= BATCH_BLOCKS_MAX || batch_live >= BATCH_BYTES_MAX ||
        batch_live <= -BATCH_BYTES_MAX)
        flush(batch);
}

void allocation_site_came(const struct block *block, uint64_t live_bytes)
{
    count(block->site, UINT32_C(1) << block->tracked_log2, block->size << block->tracked_log2,
          block->size, (int64_t)(live_bytes << block->tracked_log2));
}

void allocation_site_went(const struct block *block, uint64_t live_bytes)
{
    count(block->site, 0, 0, 0, -(int64_t)(live_bytes << block->tracked_log2));
}

void allocation_sites_thread_end(void)
{
    struct thread_cache *cache = thread_cache_get();
    for (unsigned i = 0; cache != NULL && i < BATCHES; i++)
        flush(&cache->batches[i]);
}

static void flush_all(void *user, struct thread_cache *cache)
{
    (void)user;
    for (unsigned i = 0; i < BATCHES; i++)
        flush(&cache->batches[i]);
}

void allocation_sites_fork_child(void)
{
    thread_cache_each(flush_all, NULL);
    const uint32_t count = site_count();
    for (uint32_t site = 1; site <= count; site++) {
        struct site_totals *totals = &sites.totals[site];
        atomic_store_explicit(&totals->blocks, 0, memory_order_relaxed);
        atomic_store_explicit(&totals->bytes, 0, memory_order_relaxed);
        atomic_store_explicit(&totals->largest, 0, memory_order_relaxed);
        atomic_store_explicit(&totals->live_peak,
                              atomic_load_explicit(&totals->live, memory_order_relaxed),
                              memory_order_relaxed);
    }
}

/* Adds what threads have in their batches for one site, without taking it from them. */
struct pending_sum {
    uint32_t site;
    uint64_t blocks, bytes, largest;
    int64_t live;
};

static void add_pending(void *user, struct thread_cache *cache)
{
    struct pending_sum *sum = user;
    const struct batch *batch = &cache->batches[sum->site % BATCHES];
    if (GET(site) != sum->site)
        return;
    sum->blocks += GET(blocks);
    sum->bytes += GET(bytes);
    sum->live += GET(live);
    if (GET(largest) > sum->largest)
        sum->largest = GET(largest);
}

void allocation_site_totals(void (*callback)(void *user, const struct record_site_totals *),
                            void *user)
{
    const uint32_t count = site_count();
    for (uint32_t site = 1; site <= count; site++) {
        const struct site_totals *totals = &sites.totals[site];
        struct pending_sum sum = {
            .site = site,
            .blocks = atomic_load_explicit(&totals->blocks, memory_order_relaxed),
            .bytes = atomic_load_explicit(&totals->bytes, memory_order_relaxed),
            .largest = atomic_load_explicit(&totals->largest, memory_order_relaxed),
            .live = atomic_load_explicit(&totals->live, memory_order_relaxed),
        };
        thread_cache_each(add_pending, &sum);
        const int64_t peak = atomic_load_explicit(&totals->live_peak, memory_order_relaxed);
        if (sum.blocks == 0 && sum.live <= 0 && peak <= 0)
            continue;
        callback(user, &(struct record_site_totals){
                           .site_id = site,
                           .blocks = sum.blocks,
                           .bytes = sum.bytes,
                           .largest_bytes = sum.largest,
                           .live_bytes_peak = (uint64_t)(sum.live > peak ? sum.live : peak)});
    }
}

void allocation_each_site(void (*callback)(void *user, uint32_t site_id, uint32_t context_id,
                                           enum allocator allocator, const char *name),
                          void *user)
{
    const uint32_t count = site_count();
    for (uint32_t site = 1; site <= count; site++) {
        uint32_t context;
        uint64_t pair;
        context_tree_node(site_tree(), site, &context, &pair);
        if (pair != 0) /* 0: a fork interrupted its creation */
            callback(user, site, context, (enum allocator)(pair & 0xffff), name_of(pair));
    }
}

void allocation_end(void)
{
    atomic_store_explicit(&sites.ended, true, memory_order_relaxed);
}

bool allocation_hooks_are_live(void)
{
    return !atomic_load_explicit(&sites.ended, memory_order_relaxed);
}

void allocation_sites_statistics(struct allocation_sites_statistics *statistics)
{
    struct pending_sum other = {
        .site = ALLOCATION_SITE_OTHER,
        .blocks =
            atomic_load_explicit(&sites.totals[ALLOCATION_SITE_OTHER].blocks, memory_order_relaxed),
    };
    thread_cache_each(add_pending, &other);
    statistics->other_blocks = other.blocks;
    statistics->frames_walked = atomic_load_explicit(&sites.frames_walked, memory_order_relaxed);
    statistics->contexts_shortened =
        atomic_load_explicit(&sites.contexts_shortened, memory_order_relaxed);
}
