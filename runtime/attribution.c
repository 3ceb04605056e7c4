/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe but for attribution_begin(). */
#include "attribution.h"

#include <sched.h>
#include <stddef.h>

#include "interpose_allocation.h"
#include "interpose_loader.h"
#include "interpose_signal.h"
#include "memory.h"
#include "modules.h"
#include "objects/context_tree.h"
#include "output.h"
#include "unwind.h"
#include "watch.h"
#include "signal_safe.h"

enum { CONTEXTS_MAX = 1 << 19 };

/* Written once at start-up; the tree itself is lock-free. */
static struct context_tree *contexts;

static void new_context(void *user, uint32_t context_id, uint32_t parent_id, uint64_t ip)
{
    struct record_context record = {.context_id = context_id, .parent_id = parent_id, .ip = ip};
    sigset_t before;

    (void)user;
    signals_block(&before);
    output_append(RECORD_CONTEXT, &record, sizeof record, NULL, 0);
    signals_restore(&before);
}

static void new_site(void *user, uint32_t site_id, uint32_t context_id, enum allocator allocator,
                     const char *name)
{
    struct record_site record = {
        .site_id = site_id, .context_id = context_id, .allocator = (uint16_t)allocator};
    sigset_t before;
    size_t length = 0;

    (void)user;
    while (name[length])
        length++;
    signals_block(&before);
    output_append(RECORD_SITE, &record, offsetof(struct record_site, name), name, length + 1);
    signals_restore(&before);
}

/* Called in the target's normal code: also the moment to see which objects dlopen has brought. */
static void allocated_at_new_site(void *user, uint32_t site_id, uint32_t context_id,
                                  enum allocator allocator, const char *name)
{
    loader_refresh();
    new_site(user, site_id, context_id, allocator, name);
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
        .hooks = {.new_site = allocated_at_new_site, .released = released},
    };

    if (!memory)
        return;
    contexts = context_tree_create(memory, CONTEXTS_MAX, new_context, NULL);
    options.contexts = contexts;
    allocation_begin(&options);
}

void attribution_reset_after_fork(void)
{
    allocation_fork_child();
}

void attribution_announce(void)
{
    uint32_t count = contexts ? context_tree_count(contexts) : 0, parent;
    uint64_t ip;

    for (uint32_t id = 1; id <= count; id++) {
        context_tree_node(contexts, id, &parent, &ip);
        new_context(NULL, id, parent, ip);
    }
    allocation_each_site(new_site, NULL);
}

uint32_t attribution_context(struct thread *thread, ucontext_t *context, uint64_t ip)
{
    uint64_t ips[UNWIND_FRAMES_MAX];
    struct unwind_start start = unwind_start_of_signal(context);
    size_t n;
    uint32_t id;

    if (!contexts)
        return 0;
    n = unwind(&start, ips, UNWIND_FRAMES_MAX, NULL);
    /* The sampled access lies a little ahead of the interruption: same callers, its own place. */
    if (n > 0)
        ips[0] = ip;
    id = context_tree_intern(contexts, ips, n);
    if (id == 0)
        thread->totals.lost[LOSS_CONTEXT]++;
    return id;
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

void attribution_object(struct thread *thread, struct record_sample *sample)
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
    } else if ((module = modules_find(sample->address)) != 0) {
        sample->object_kind = OBJECT_GLOBAL;
        sample->object_reference = module;
    }
}

uint16_t attribution_cpu(void)
{
    int cpu = sched_getcpu();

    return cpu < 0 ? 0 : (uint16_t)cpu;
}

static void site_totals(void *user, const struct record_site_totals *totals)
{
    (void)user;
    output_append(RECORD_SITE_TOTALS, totals, sizeof *totals, NULL, 0);
}

void attribution_finish(void)
{
    allocation_end();
    allocation_site_totals(site_totals, NULL);
}
