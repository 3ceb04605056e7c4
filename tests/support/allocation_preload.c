/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A preload library with the allocation tracking alone, for tests. At the end of the process it
 * adds one line of figures to the file that ALLOCATION_LOG names; with ALLOCATION_SAMPLE set it
 * tracks a sample of the blocks, else all of them. With ALLOCATION_TICK_NS set its clock advances
 * by that much whenever it is read, so that tracking takes half of the time; else it has none, and
 * tracking is never dear. Programs can ask it about addresses.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocation/interpose_allocation.h"
#include "allocation_preload.h"
#include "interposition/interpose.h"
#include "unwinding/unwind.h"

static struct context_tree *contexts;
static _Atomic unsigned new_sites, new_mappings, released;
static _Atomic uint64_t released_base, released_size;
static uint32_t site_contexts[BLOCK_SITE_MAX + 1]; /* each written before its site is known */
static char log_path[4096];
static pthread_key_t thread_end_key;
static struct allocation_mapping last_mapping;

static void on_new_site(void *user, uint32_t site_id, uint32_t context_id, enum allocator allocator,
                        const char *name)
{
    (void)user;
    (void)allocator;
    (void)name;
    site_contexts[site_id] = context_id;
    atomic_fetch_add(&new_sites, 1);
}

static void on_new_mapping(void *user, const struct allocation_mapping *mapping)
{
    (void)user;
    last_mapping = *mapping;
    atomic_fetch_add(&new_mappings, 1);
}

static void on_released(void *user, uint64_t base, uint64_t size)
{
    (void)user;
    atomic_store(&released_base, base);
    atomic_store(&released_size, size);
    atomic_fetch_add(&released, 1);
}

INTERPOSED unsigned allocation_test_released(uint64_t *base, uint64_t *size)
{
    *base = atomic_load(&released_base);
    *size = atomic_load(&released_size);
    return atomic_load(&released);
}

INTERPOSED unsigned allocation_test_mappings(int *descriptor, uint64_t *offset)
{
    *descriptor = last_mapping.descriptor;
    *offset = last_mapping.offset;
    return atomic_load(&new_mappings);
}

INTERPOSED void allocation_test_watch(const void *address, int on)
{
    (on ? allocation_watch : allocation_unwatch)((uint64_t)(uintptr_t)address);
}

INTERPOSED int allocation_test_name(const void *pointer, size_t size, const char *name)
{
    const struct unwind_start caller = UNWIND_START_OF_CALLER();
    return allocation_name(pointer, size, name, &caller);
}

INTERPOSED void allocation_test_pause(int on)
{
    (on ? allocation_pause : allocation_resume)();
}

struct site_search {
    uint32_t site_id;
    struct allocation_test_answer *answer;
};

static void find_site(void *user, uint32_t site_id, uint32_t context_id, enum allocator allocator,
                      const char *name)
{
    struct site_search *search = user;
    if (site_id != search->site_id)
        return;
    search->answer->allocator = (int)allocator;
    strncpy(search->answer->name, name, sizeof search->answer->name - 1);
    while (context_id != 0 && search->answer->frame_count < UNWIND_FRAMES_MAX)
        context_tree_node(contexts, context_id, &context_id,
                          &search->answer->frames[search->answer->frame_count++]);
}

static void find_totals(void *user, const struct record_site_totals *totals)
{
    struct site_search *search = user;
    if (totals->site_id != search->site_id)
        return;
    search->answer->blocks = totals->blocks;
    search->answer->bytes = totals->bytes;
    search->answer->largest = totals->largest_bytes;
    search->answer->peak = totals->live_bytes_peak;
}

INTERPOSED int allocation_test_find(const void *address, struct allocation_test_answer *answer)
{
    struct block block;
    enum object_kind kind;
    uint32_t parent;
    *answer = (struct allocation_test_answer){0};
    if (!allocation_find((uint64_t)(uintptr_t)address, &block, &kind)) {
        answer->kind = OBJECT_HEAP_UNTRACKED;
        return allocation_is_near_heap((uint64_t)(uintptr_t)address);
    }
    answer->kind = kind;
    answer->base = block.base;
    answer->size = block.size;
    answer->site = block.site;
    answer->tracked_log2 = block.tracked_log2;
    if (block.site != 0 && site_contexts[block.site] != 0)
        context_tree_node(contexts, site_contexts[block.site], &parent, &answer->frames[0]);
    return 1;
}

INTERPOSED int allocation_test_ask(const void *address, struct allocation_test_answer *answer)
{
    if (!allocation_test_find(address, answer))
        return 0;
    struct site_search search = {.site_id = answer->site, .answer = answer};
    allocation_each_site(find_site, &search);
    allocation_site_totals(find_totals, &search);
    return 1;
}

static uint64_t tick_ns;

static uint64_t read_clock(void)
{
    static __thread uint64_t now __attribute__((tls_model("initial-exec")));
    return now += tick_ns;
}

static void on_spent(void *user, uint64_t ns)
{
    (void)user;
    (void)ns;
}

struct sums {
    uint64_t sites, blocks, bytes, peak;
};

static void add_totals(void *user, const struct record_site_totals *totals)
{
    struct sums *sums = user;
    sums->sites++;
    sums->blocks += totals->blocks;
    sums->bytes += totals->bytes;
    sums->peak += totals->live_bytes_peak;
}

static void thread_end(void *value)
{
    (void)value;
    allocation_thread_end();
}

static void fork_child(void)
{
    allocation_fork_child();
}

/* Threads are told apart by a wrapper of pthread_create, as their end must be seen. */
struct thread_start {
    void *(*function)(void *);
    void *argument;
};

static void *start_thread(void *argument)
{
    const struct thread_start start = *(struct thread_start *)argument;
    munmap(argument, sizeof start);
    pthread_setspecific(thread_end_key, &thread_end_key);
    return start.function(start.argument);
}

INTERPOSED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*function)(void *), void *argument)
{
    static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (create == NULL)
        *(void **)&create = interpose_real("pthread_create");
    struct thread_start *start =
        mmap(NULL, sizeof *start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *start = (struct thread_start){.function = function, .argument = argument};
    return create(thread, attributes, start_thread, start);
}

__attribute__((constructor)) static void begin(void)
{
    enum { CONTEXTS = 1 << 18 };
    const char *path = getenv("ALLOCATION_LOG");
    if (path != NULL)
        strncpy(log_path, path, sizeof log_path - 1);
    const char *budget = getenv("ALLOCATION_BUDGET");
    const char *tick = getenv("ALLOCATION_TICK_NS");
    tick_ns = tick == NULL ? 0 : strtoull(tick, NULL, 0);
    void *memory = mmap(NULL, context_tree_size(CONTEXTS), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    contexts = context_tree_create(memory, CONTEXTS, NULL, NULL);
    pthread_key_create(&thread_end_key, thread_end);
    pthread_atfork(NULL, NULL, fork_child);
    allocation_begin(&(struct allocation_options){
        .contexts = contexts,
        .hooks = {.new_site = on_new_site,
                  .new_mapping = on_new_mapping,
                  .released = on_released,
                  .clock = tick_ns == 0 ? NULL : read_clock,
                  .spent = on_spent},
        .block_bytes_max = budget == NULL ? 0 : strtoull(budget, NULL, 0),
        .every_block = getenv("ALLOCATION_SAMPLE") == NULL});
}

__attribute__((destructor)) static void end(void)
{
    char line[512];
    struct sums sums = {0, 0, 0, 0};
    struct allocation_statistics statistics;
    allocation_end();
    if (log_path[0] == '\0')
        return;
    allocation_site_totals(add_totals, &sums);
    allocation_statistics(&statistics);
    const int length = snprintf(
        line, sizeof line,
        "pid %d announced %u sites %llu blocks %llu bytes %llu peak %llu other %llu untracked %llu "
        "walked %llu shortened %llu contexts %u overflows %llu truncated %llu node_bytes %llu "
        "mappings %u\n",
        getpid(), atomic_load(&new_sites), (unsigned long long)sums.sites,
        (unsigned long long)sums.blocks, (unsigned long long)sums.bytes,
        (unsigned long long)sums.peak, (unsigned long long)statistics.other_blocks,
        (unsigned long long)statistics.untracked_blocks,
        (unsigned long long)statistics.frames_walked,
        (unsigned long long)statistics.contexts_shortened, context_tree_count(contexts),
        (unsigned long long)context_tree_overflows(contexts),
        (unsigned long long)unwind_truncated(), (unsigned long long)statistics.node_bytes,
        atomic_load(&new_mappings));
    const int descriptor = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
        if (write(descriptor, line, (size_t)length) != length)
            perror(log_path);
        close(descriptor);
    }
}
