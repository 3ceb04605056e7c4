/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/page_faults.h"

#include <stdbool.h>

#include "bursts/thread_usage.h"
#include "isa/interpreter.h"
#include "memory/page_map.h"
#include "memory/scratch.h"
#include "process/settings.h"
#include "recording/tape.h"
#include "sampling/page_sample.h"

#include "signal_safe.h"

enum {
    /* Faults since the burst before that took less than one part in so many of the time do not
       matter. */
    NOTHING_ONE_IN = 64,
};

void page_faults_count(struct thread *thread)
{
    thread->rate.faults.counted = thread_usage_now().faults;
}

void page_faults_look(struct thread *thread)
{
    thread->rate.faults.at_look = thread_usage_now().faults;
}

void page_faults_begin(struct scratch *scratch, uint64_t faults)
{
    const struct rate *rate = &scratch->thread->rate;

    scratch->faults = (struct burst_faults){
        .before = rate->looked_ns ? faults - rate->faults.at_look : 0,
        .since = faults - rate->faults.counted,
    };
}

static bool matter(const struct scratch *scratch)
{
    return scratch->faults.since * thread_usage_fault_ns() * NOTHING_ONE_IN >= scratch->since_ns;
}

/* Of the memory that looking ahead uses. */
static uint32_t count_own_pages(const struct scratch *scratch)
{
    const struct thread *thread = scratch->thread;

    return page_map_present(scratch, scratch_bytes()) + page_map_present(thread, sizeof *thread) +
           page_map_present(thread->handler_stack, HANDLER_STACK) +
           page_map_present(thread->interpreter, interpreter_memory_size());
}

/* Of loads; a page of ours that has come meanwhile was a fault of ours. Unknown, and 0, where the
 * kernel does not tell of pages. */
static uint64_t count_loads(const struct scratch *scratch, uint64_t now)
{
    uint64_t taken = now - scratch->faults.looking, own;

    if (taken == 0 || scratch->faults.own_pages == 0)
        return 0;
    own = count_own_pages(scratch) - scratch->faults.own_pages;
    return own < taken ? taken - own : 0;
}

static uint64_t count_stores(const struct burst *burst, uint32_t from)
{
    const unsigned shift = (unsigned)__builtin_ctzll(settings.page_size);
    uint64_t pages[PAGE_SAMPLE_MAX];
    struct page_sample sample;

    page_sample_begin(&sample);
    for (uint32_t i = from; i < burst_count(burst); i++) {
        const struct access *access = burst_access(burst, i);

        if (access->kind == ACCESS_STORE)
            page_sample_add(&sample, access->address >> shift);
    }
    return (uint64_t)sample.each * page_map_store_faults(pages, page_sample_list(&sample, pages));
}

void page_faults_follow_begin(struct scratch *scratch)
{
    if (!matter(scratch))
        return;
    scratch->faults.own_pages = count_own_pages(scratch);
    scratch->faults.looking = thread_usage_now().faults;
}

void page_faults_follow_end(struct scratch *scratch)
{
    uint64_t now;

    if (!matter(scratch))
        return;
    now = thread_usage_now().faults;
    scratch->faults.ahead += tape_value(
        TAPE_COUNT, count_loads(scratch, now) + count_stores(scratch->burst, scratch->from));
}

unsigned page_faults_list(struct scratch *scratch, struct progress_variable *variables)
{
    const struct burst_faults *faults = &scratch->faults;
    const uint64_t fault_ns = thread_usage_fault_ns();
    const uint32_t accesses = burst_count(scratch->burst);
    unsigned n = 0;

    if (fault_ns > 0)
        variables[n++] = (struct progress_variable){
            .kind = PROGRESS_FAULT_NS,
            .flags = PROGRESS_SINCE | (scratch->before_ns ? PROGRESS_BEFORE : 0),
            .accesses = accesses,
            .within = (double)(faults->ahead * fault_ns),
            .before = (double)(faults->before * fault_ns),
            .since = (double)(faults->since * fault_ns)};
    variables[n++] = (struct progress_variable){.place = PROGRESS_PAGE_FAULTS,
                                                .kind = PROGRESS_KERNEL_COUNT,
                                                .flags = PROGRESS_SINCE,
                                                .accesses = accesses,
                                                .within = (double)faults->ahead,
                                                .since = (double)faults->since};
    page_faults_count(scratch->thread);
    return n;
}
