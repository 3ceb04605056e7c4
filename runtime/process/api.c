/* SPDX-License-Identifier: BSD-3-Clause */
/* The public interface, see reuse.h. Runs in the target's normal code. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "allocation/interpose_allocation.h"
#include "bursts/thread.h"
#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "large_table.h"
#include "memory/regions.h"
#include "output/output.h"
#include "perf_events/level_counts.h"
#include "process/process.h"
#include "unwinding/unwind.h"

/* The same declarations without `weak`: here they are defined. */
INTERPOSED void reuse_region_begin(const char *name);
INTERPOSED void reuse_region_end(void);
INTERPOSED int reuse_name_object(const void *pointer, size_t size, const char *name);
INTERPOSED void reuse_pause(void);
INTERPOSED void reuse_resume(void);

enum { REGION_NAME_MAX = 256, REGIONS_MAX = 1024 };

/* Names so far. Entries below region_count are complete and never change; written under the lock
 * with all signals blocked. */
static LARGE_TABLE char region_names[REGIONS_MAX][REGION_NAME_MAX];
static _Atomic uint32_t region_count;
static atomic_flag region_lock = ATOMIC_FLAG_INIT;

static uint32_t find_region(const char *name, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (strncmp(region_names[i], name, REGION_NAME_MAX - 1) == 0)
            return i + 1;
    return 0;
}

void region_announce(uint32_t region_id)
{
    struct record_region record = {.region_id = region_id};
    const char *name = region_names[region_id - 1];

    output_append(RECORD_REGION, &record, offsetof(struct record_region, name), name,
                  strlen(name) + 1);
}

uint32_t regions_count(void)
{
    return atomic_load(&region_count);
}

void regions_after_fork(void)
{
    atomic_flag_clear(&region_lock);
}

/* 0 when the table is full. */
static uint32_t intern_region(const char *name)
{
    uint32_t seen = atomic_load(&region_count), id = find_region(name, 0, seen);
    sigset_t before;

    if (id)
        return id;
    signals_block(&before);
    while (atomic_flag_test_and_set_explicit(&region_lock, memory_order_acquire))
        ;
    id = find_region(name, seen, atomic_load(&region_count));
    if (id == 0 && atomic_load(&region_count) < REGIONS_MAX) {
        uint32_t n = atomic_load(&region_count);

        strncpy(region_names[n], name, REGION_NAME_MAX - 1);
        atomic_store(&region_count, n + 1);
        id = n + 1;
        region_announce(id);
    }
    atomic_flag_clear_explicit(&region_lock, memory_order_release);
    signals_restore(&before);
    return id;
}

void reuse_region_begin(const char *name)
{
    struct thread *thread = process_is_ours() ? thread_current() : NULL;

    if (thread && name)
        thread_region_begin(thread,
                            thread->region_depth < THREAD_REGIONS ? intern_region(name) : 0);
}

void reuse_region_end(void)
{
    struct thread *thread = process_is_ours() ? thread_current() : NULL;

    if (thread)
        thread_region_end(thread);
}

int reuse_name_object(const void *pointer, size_t size, const char *name)
{
    struct unwind_start caller = UNWIND_START_OF_CALLER();
    int saved = errno;
    bool named = name && process_is_ours() && allocation_name(pointer, size, name, &caller);

    errno = saved;
    return named ? 0 : -1;
}

void reuse_pause(void)
{
    if (!process_is_ours())
        return;
    threads_pause(true);
    level_counts_pause(true);
}

void reuse_resume(void)
{
    if (!process_is_ours())
        return;
    level_counts_pause(false);
    threads_pause(false);
}
