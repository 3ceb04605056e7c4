/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe but for attribution_begin() and the hook of new sites.
 *
 * Contexts and allocation sites are many, and most are never seen in a sample: they reach the file
 * when the first sample refers to them, so that an allocation costs no record.
 */
#include "attribution.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "interpose_allocation.h"
#include "interpose_loader.h"
#include "interpose_signal.h"
#include "memory.h"
#include "modules.h"
#include "objects/context_tree.h"
#include "output.h"
#include "tape.h"
#include "unwind.h"
#include "watch.h"

#include "signal_safe.h"

enum {
    CONTEXTS_MAX = 1 << 19,
    SITES_MAX = BLOCK_SITE_MAX + 1,
    BLOCK_BYTES_MAX = 20 << 20, /* what the block maps may take */
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
static _Atomic uint64_t announced_contexts[CONTEXTS_MAX / 64 + 1];
static _Atomic uint64_t announced_sites[SITES_MAX / 64 + 1];

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

/* Called in the target's normal code: also the moment to see which objects dlopen has brought. */
static void new_site(void *user, uint32_t site_id, uint32_t context_id, enum allocator allocator,
                     const char *name)
{
    sigset_t before;

    (void)user;
    loader_refresh();
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

void attribution_begin(void)
{
    void *memory = memory_map(context_tree_size(CONTEXTS_MAX));
    struct allocation_options options = {
        .hooks = {.new_site = new_site, .released = released},
        .block_bytes_max = BLOCK_BYTES_MAX,
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
    n = unwind(&start, frames, UNWIND_FRAMES_MAX, NULL);
    if (n > 0)
        frames[0] = ip;
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

static uint32_t find_sample_context(const struct thread *thread, ucontext_t *context)
{
    uint64_t unwound[UNWIND_FRAMES_MAX], frames[UNWIND_FRAMES_MAX];
    struct unwind_start start = unwind_start_of_signal(context);
    const struct window *window = &thread->window;
    uint64_t ip = window_sample(window)->ip;
    size_t n;

    if (!contexts)
        return 0;
    /* Where our own wrappers lay on the way, accesses and calls are not in step. */
    if (thread->left_out)
        return number_context(&ip, 1);
    n = unwind(&start, unwound, UNWIND_FRAMES_MAX, NULL);
    return number_context(frames, call_path_frames(&thread->call_path, window->sampled, ip, unwound,
                                                   n, frames, UNWIND_FRAMES_MAX));
}

uint32_t attribution_sample_context(struct thread *thread, ucontext_t *context)
{
    bool inside;
    uint32_t id;

    if (tape_supplies())
        return taped_context(thread, 0);
    inside = tape_step_out();
    id = find_sample_context(thread, context);
    tape_step_in(inside);
    return taped_context(thread, id);
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

static void find_object(const struct thread *thread, struct record_sample *sample)
{
    const struct thread *owner = stack_owner(thread, sample->address);
    enum object_kind kind = OBJECT_UNKNOWN;
    struct block block = {0};
    uint32_t module;

    if (owner) {
        sample->object_kind = OBJECT_STACK;
        sample->object_reference = owner->id;
        sample->object_base = owner->stack_low;
        sample->object_size = owner->stack_high - owner->stack_low;
    } else if (allocation_find(sample->address, &block, &kind)) {
        sample->object_kind = (uint8_t)kind;
        sample->object_reference = block.site;
        sample->object_base = block.base;
        sample->object_size = block.size;
        if (block.site)
            announce_site(block.site, "");
    } else if ((module = modules_find(sample->address)) != 0) {
        sample->object_kind = OBJECT_GLOBAL;
        sample->object_reference = module;
    }
}

void attribution_object(struct thread *thread, struct record_sample *sample)
{
    if (!tape_supplies()) {
        bool inside = tape_step_out();

        find_object(thread, sample);
        tape_step_in(inside);
    }
    sample->object_kind = (uint8_t)tape_value(TAPE_ATTRIBUTION, sample->object_kind);
    sample->object_reference = (uint32_t)tape_value(TAPE_ATTRIBUTION, sample->object_reference);
    sample->object_base = tape_value(TAPE_ATTRIBUTION, sample->object_base);
    sample->object_size = tape_value(TAPE_ATTRIBUTION, sample->object_size);
}

uint16_t attribution_cpu(void)
{
    int cpu = sched_getcpu();

    return (uint16_t)tape_value(TAPE_ATTRIBUTION, cpu < 0 ? 0 : (uint64_t)cpu);
}

static void site_totals(void *user, const struct record_site_totals *totals)
{
    uint32_t id = totals->site_id;

    (void)user;
    if (atomic_load(&announced_sites[id / 64]) >> (id % 64) & 1)
        output_append(RECORD_SITE_TOTALS, totals, sizeof *totals, NULL, 0);
}

void attribution_finish(void)
{
    allocation_end();
    allocation_site_totals(site_totals, NULL);
}
