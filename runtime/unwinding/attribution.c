/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe but for attribution_begin() and the hook of new sites.
 *
 * Contexts and allocation sites are many, and most are never seen in a sample: they reach the file
 * when the first sample refers to them, so that an allocation costs no record.
 */
#include "unwinding/attribution.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "allocation/allocation_objects.h"
#include "allocation/interpose_allocation.h"
#include "bursts/cost_account.h"
#include "bursts/look_ahead.h"
#include "interposition/interpose_signal.h"
#include "large_table.h"
#include "memory/forbidden.h"
#include "memory/memory.h"
#include "memory/modules.h"
#include "objects/context_tree.h"
#include "output/output.h"
#include "process/settings.h"
#include "recording/tape.h"
#include "unwinding/unwind.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum {
    CONTEXTS_MAX = 1 << 19,
    SITES_MAX = BLOCK_SITE_MAX + 1,
    BLOCK_BYTES_MAX = 48 << 20, /* what the block maps may take */
    /* Aligned bytes that are taken to be of one object, where its extent is not known. */
    GRAIN = 64,
    BLOCK_GRAIN = 16, /* small blocks lie side by side, tracked or not */
    MAPPING_GRAIN = 4096,
};

struct site {
    uint32_t context_id;
    uint32_t allocator;
};

/* Written once at start-up; the tree itself is lock-free. */
static struct context_tree *contexts;
/* By number; an entry is written before its number is given to any block. */
static struct site *sites;
/* Bit per number: its record is in the file. Set by whoever writes it. */
static LARGE_TABLE _Atomic uint64_t announced_contexts[CONTEXTS_MAX / 64 + 1];
static LARGE_TABLE _Atomic uint64_t announced_sites[SITES_MAX / 64 + 1];

/* True for the one caller that is to announce the number. */
static bool claim(_Atomic uint64_t *bits, uint32_t number)
{
    uint64_t bit = UINT64_C(1) << (number % 64);

    return !(atomic_load_explicit(&bits[number / 64], memory_order_relaxed) & bit) &&
           !(atomic_fetch_or(&bits[number / 64], bit) & bit);
}

/* The context and all above it, outermost first. */
static void announce_context(uint32_t id)
{
    uint32_t chain[UNWIND_FRAMES_MAX + 1];
    unsigned n = 0;

    while (id != 0 && n < UNWIND_FRAMES_MAX + 1 && claim(announced_contexts, id)) {
        uint32_t parent;
        uint64_t ip;

        chain[n++] = id;
        context_tree_node(contexts, id, &parent, &ip);
        id = parent;
    }
    while (n > 0) {
        struct record_context record = {.context_id = chain[--n]};

        context_tree_node(contexts, record.context_id, &record.parent_id, &record.ip);
        modules_meet(record.ip);
        output_append(RECORD_CONTEXT, &record, sizeof record, NULL, 0);
    }
}

static void announce_site(uint32_t id, const char *name)
{
    struct record_site record = {
        .site_id = id,
        .context_id = sites[id].context_id,
        .allocator = (uint16_t)sites[id].allocator,
    };

    if (!claim(announced_sites, id))
        return;
    announce_context(record.context_id);
    output_append(RECORD_SITE, &record, offsetof(struct record_site, name), name, strlen(name) + 1);
}

/* Called in the target's normal code. */
static void new_site(void *user, uint32_t site_id, uint32_t context_id, enum allocator allocator,
                     const char *name)
{
    sigset_t before;

    (void)user;
    sites[site_id] = (struct site){.context_id = context_id, .allocator = allocator};
    if (name[0] != '\0') {
        signals_block(&before);
        announce_site(site_id, name);
        signals_restore(&before);
    }
}

static void released(void *user, uint64_t base, uint64_t size)
{
    (void)user;
    watch_block_freed(base, size);
}

/* What lay there before is gone. */
static void new_mapping(void *user, const struct allocation_mapping *mapping)
{
    (void)user;
    forbidden_remove(mapping->start, mapping->end);
    if (mapping->descriptor >= 0)
        forbidden_if_device(mapping->start, mapping->end, mapping->descriptor);
}

static uint64_t clock_beside_tape(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* A recording is repeated without the target's allocations. */
static void spent(void *user, uint64_t ns)
{
    struct thread *thread = thread_current();

    (void)user;
    if (!thread || tape_mode != TAPE_OFF)
        return;
    atomic_fetch_add_explicit(&thread->besides_ns, ns, memory_order_relaxed);
    governor_spend_besides(&thread->governor, ns);
}

void attribution_begin(void)
{
    void *memory = memory_map(context_tree_size(CONTEXTS_MAX));
    struct allocation_options options = {
        .hooks = {.new_site = new_site,
                  .new_mapping = new_mapping,
                  .released = released,
                  .clock = clock_beside_tape,
                  .spent = spent},
        .block_bytes_max = BLOCK_BYTES_MAX,
        .seed = settings.seed,
    };

    sites = memory_map(SITES_MAX * sizeof *sites);
    if (!memory || !sites)
        return;
    contexts = context_tree_create(memory, CONTEXTS_MAX, NULL, NULL);
    options.contexts = contexts;
    allocation_begin(&options);
}

void attribution_reset_after_fork(void)
{
    allocation_fork_child();
}

void attribution_stop(void)
{
    atomic_store(&allocation_following, false);
}

static void announce_named(void *user, uint32_t site_id, uint32_t context_id,
                           enum allocator allocator, const char *name)
{
    (void)user;
    (void)context_id;
    (void)allocator;
    if (name[0] != '\0')
        announce_site(site_id, name);
}

void attribution_announce(void)
{
    memset((void *)announced_contexts, 0, sizeof announced_contexts);
    memset((void *)announced_sites, 0, sizeof announced_sites);
    if (contexts)
        allocation_each_site(announce_named, NULL);
}

/* Number of the frames' context, announced. */
static uint32_t number_context(const uint64_t *frames, size_t n)
{
    uint32_t id = context_tree_intern(contexts, frames, n);

    if (id != 0)
        announce_context(id);
    return id;
}

/* On the tape a context is its number alone: who replays has no stack to unwind. */
static uint32_t taped_context(struct thread *thread, uint32_t id)
{
    id = (uint32_t)tape_value(TAPE_ATTRIBUTION, id);
    if (id == 0)
        thread->totals.lost[LOSS_CONTEXT]++;
    return id;
}

static uint32_t find_context(ucontext_t *context, uint64_t ip)
{
    uint64_t frames[UNWIND_FRAMES_MAX];
    struct unwind_start start = unwind_start_of_signal(context);
    size_t n;

    if (!contexts)
        return 0;
    n = unwind(&start, frames, UNWIND_FRAMES_MAX);
    if (n > 0)
        frames[0] = ip;
    modules_meet(ip);
    return number_context(frames, n);
}

uint32_t attribution_context(struct thread *thread, ucontext_t *context, uint64_t ip)
{
    bool inside;
    uint32_t id;

    if (tape_supplies())
        return taped_context(thread, 0);
    inside = tape_step_out();
    id = find_context(context, ip);
    tape_step_in(inside);
    return taped_context(thread, id);
}

size_t attribution_frames(ucontext_t *context, uint64_t frames[UNWIND_FRAMES_MAX])
{
    struct unwind_start start = unwind_start_of_signal(context);
    uint64_t unwound[UNWIND_FRAMES_MAX];
    enum cost_part before;
    size_t n, kept = 0;

    if (!contexts || tape_supplies())
        return 0;
    before = cost_enter(COST_UNWINDING);
    n = unwind(&start, unwound, UNWIND_FRAMES_MAX);
    cost_leave(before);
    for (size_t i = 1; i < n; i++)
        if (!look_ahead_is_runtime(unwound[i]))
            frames[kept++] = unwound[i];
    return kept;
}

uint32_t attribution_path(const uint64_t *frames, size_t n)
{
    enum cost_part before = cost_enter(COST_CONTEXTS);
    uint32_t path = contexts ? context_tree_intern(contexts, frames, n) : 0;

    cost_leave(before);
    return path;
}

uint32_t attribution_path_on(uint32_t path, uint64_t return_address)
{
    enum cost_part before = cost_enter(COST_CONTEXTS);
    uint32_t on = contexts ? context_tree_child(contexts, path, return_address) : 0;

    cost_leave(before);
    return on;
}

static uint32_t find_on_path(uint32_t path, uint64_t ip)
{
    enum cost_part before = cost_enter(COST_CONTEXTS);
    uint32_t id = contexts ? context_tree_child(contexts, path, ip) : 0;

    modules_meet(ip);
    if (id != 0)
        announce_context(id);
    cost_leave(before);
    return id;
}

uint32_t attribution_on_path(struct thread *thread, uint32_t path, uint64_t ip)
{
    bool inside;
    uint32_t id;

    if (tape_supplies())
        return taped_context(thread, 0);
    inside = tape_step_out();
    id = find_on_path(path, ip);
    tape_step_in(inside);
    return taped_context(thread, id);
}

void attribution_meet(struct thread *thread, uint32_t path, uint64_t ip)
{
    enum cost_part before = cost_enter(COST_CONTEXTS);

    if (!tape_supplies()) {
        bool inside = tape_step_out();

        modules_meet(ip);
        announce_context(path);
        tape_step_in(inside);
        if (path == 0 && contexts && context_tree_overflows(contexts) > 0)
            thread->totals.lost[LOSS_CONTEXT]++;
    }
    cost_leave(before);
}

/* The stack that holds the address, among those of the threads that are known; NULL none. */
static const struct thread *stack_owner(const struct thread *self, uint64_t address)
{
    if (address - self->stack_low < self->stack_high - self->stack_low)
        return self;
    for (const struct thread *thread = thread_first(); thread; thread = thread->next)
        if (atomic_load_explicit(&thread->alive, memory_order_relaxed) &&
            address - thread->stack_low < thread->stack_high - thread->stack_low)
            return thread;
    return NULL;
}

/* A range around the address, of that size and alignment, clipped to another. */
static void around(uint64_t address, uint64_t size, struct burst_object *object)
{
    uint64_t low = address & ~(size - 1), high = low + size;

    object->low = object->low < low ? low : object->low;
    object->high = object->high > high ? high : object->high;
}

static uint32_t find_module(uint64_t address)
{
    modules_meet(address);
    return modules_find(address);
}

static void find_object(const struct thread *thread, uint64_t address, struct burst_object *object)
{
    const struct thread *owner = stack_owner(thread, address);
    enum object_kind kind = OBJECT_UNKNOWN;
    struct block block = {0};
    uint32_t module;

    *object = (struct burst_object){.high = UINT64_MAX};
    if (owner) {
        object->kind = OBJECT_STACK;
        object->reference = owner->id;
        object->base = owner->stack_low;
        object->size = owner->stack_high - owner->stack_low;
    } else if (allocation_find(address, &block, &kind)) {
        object->kind = (uint8_t)kind;
        object->reference = block.site;
        object->base = block.base;
        object->size = block.size;
        object->tracked_log2 = block.tracked_log2;
        if (block.site)
            announce_site(block.site, "");
    } else if ((module = find_module(address)) != 0) {
        object->kind = OBJECT_GLOBAL;
        object->reference = module;
    } else if (allocation_is_near_heap(address)) {
        object->kind = OBJECT_HEAP_UNTRACKED;
    }
    if (object->size) {
        object->low = object->base;
        object->high = object->base + object->size;
    }
    /* Parts of blocks and of globals may have names of their own, mappings may hold blocks. */
    if (object->kind == OBJECT_HEAP_UNTRACKED)
        around(address, BLOCK_GRAIN, object);
    else if (kind != OBJECT_HEAP && !owner)
        around(address, kind == OBJECT_MAPPING ? MAPPING_GRAIN : GRAIN, object);
    else if (!owner && allocation_has_parts())
        around(address, GRAIN, object);
}

void attribution_identify(const struct thread *thread, uint64_t address,
                          struct burst_object *object)
{
    enum cost_part before = cost_enter(COST_OBJECTS);

    if (tape_supplies()) {
        memset(object, 0, sizeof *object);
    } else {
        bool inside = tape_step_out();

        find_object(thread, address, object);
        tape_step_in(inside);
    }
    object->low = tape_value(TAPE_ATTRIBUTION, object->low);
    object->high = tape_value(TAPE_ATTRIBUTION, object->high);
    object->kind = (uint8_t)tape_value(TAPE_ATTRIBUTION, object->kind);
    object->reference = (uint32_t)tape_value(TAPE_ATTRIBUTION, object->reference);
    object->base = tape_value(TAPE_ATTRIBUTION, object->base);
    object->size = tape_value(TAPE_ATTRIBUTION, object->size);
    object->tracked_log2 = (uint8_t)tape_value(TAPE_ATTRIBUTION, object->tracked_log2);
    cost_leave(before);
}

void attribution_object(const struct thread *thread, struct record_sample *sample)
{
    struct burst_object object;

    attribution_identify(thread, sample->address, &object);
    sample->object_kind = object.kind;
    sample->object_reference = object.reference;
    sample->object_base = object.base;
    sample->object_size = object.size;
}

uint16_t attribution_cpu(void)
{
    int cpu = sched_getcpu();

    return (uint16_t)tape_value(TAPE_ATTRIBUTION, cpu < 0 ? 0 : (uint64_t)cpu);
}

typedef bool (*totals_filter)(const struct record_site_totals *);

static void site_totals(void *filter, const struct record_site_totals *totals)
{
    totals_filter wanted = *(totals_filter *)filter;
    uint32_t id = totals->site_id;

    if (atomic_load(&announced_sites[id / 64]) >> (id % 64) & 1 && (!wanted || wanted(totals)))
        output_append(RECORD_SITE_TOTALS, totals, sizeof *totals, NULL, 0);
}

void attribution_site_totals(bool (*wanted)(const struct record_site_totals *))
{
    allocation_site_totals(site_totals, &wanted);
}

void attribution_finish(void)
{
    allocation_end();
    attribution_site_totals(NULL);
}
