/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts every access of a thread: the loop that most of a run's time goes to. See locality.h. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3")
#endif
#include "locality_internal.h"

#include "heap.h"
#include "objects.h"

enum {
    PREFETCH_AHEAD = 12, /* accesses */
    PREFETCH_SHARE = 16, /* look ahead when more than one access in so many is far */
};

static unsigned size_count;
static uint32_t rate_denominator = 1;
static unsigned
    shifts[EXACT_LINE_SIZES_MAX]; /* log2 of the line sizes; set before the guest runs */

void locality_set_line_sizes(const uint32_t *line_sizes, unsigned count)
{
    size_count = count;
    for (unsigned i = 0; i < count; i++)
        shifts[i] = (unsigned)__builtin_ctz(line_sizes[i]);
}

void locality_set_rate(uint32_t n)
{
    rate_denominator = n;
}

uint32_t locality_rate(void)
{
    return rate_denominator;
}

uint32_t locality_line_size(unsigned index)
{
    return UINT32_C(1) << shifts[index];
}

unsigned locality_line_sizes(void)
{
    return size_count;
}

/* Adds one use of a line; returns what it reused. */
static inline struct exact_reuse count_use(struct locality *locality, struct exact_cell *cell,
                                           unsigned size, uint64_t line, bool store)
{
    struct locality_histograms *histograms = locality->histograms;
    struct exact_reuse reuse = exact_stack_use(&locality->stacks[size], line);
    exact_dirty_use(&histograms->dirty[size], &locality->stacks[size], reuse, store);
    if (reuse.distance < EXACT_STACK_NEAR) {
        exact_counts_add_near(&locality->counts, cell, size, reuse.distance);
    } else if (reuse.distance == EXACT_STACK_COLD) {
        exact_counts_add_far(&locality->counts, cell, size, EXACT_BIN_COLD, 1);
        histograms->cold[size]++;
        if (size == 0)
            partitions_count_cold(&locality->partitions, cell->object);
        return reuse;
    } else {
        exact_counts_add_far(&locality->counts, cell, size, exact_bin_of(reuse.distance), 1);
        histograms->distance[size][histogram_bin_of(reuse.distance)]++;
    }
    histograms->time[size][reuse.time < 128 ? reuse.time : histogram_bin_of(reuse.time)]++;
    return reuse;
}

static inline __attribute__((always_inline)) void analyse(struct locality *locality,
                                                          const struct stream_access *batch,
                                                          size_t count, unsigned sizes, bool calls)
{
    for (size_t i = 0; i < count; i++) {
        const struct stream_access *access = &batch[i];
        uint64_t address = stream_address(access), last = address + stream_width(access) - 1;
        if (locality->prefetch && i + PREFETCH_AHEAD < count)
            for (unsigned size = 0; size < sizes; size++)
                exact_stack_prefetch(&locality->stacks[size],
                                     stream_address(access + PREFETCH_AHEAD) >> shifts[size]);

        struct exact_cell *cell = access->instruction < locality->current_capacity
                                      ? locality->current[access->instruction]
                                      : NULL;
        if (calls && stream_kind(access) == 0) {
            regions_follow(&locality->regions, locality->thread, access);
            continue;
        }
        if (cell == NULL || !locality_fits(locality, cell, address)) {
            cell = locality_find_cell(locality, access->instruction, address, cell);
            if (cell == NULL) {
                locality->counts.lost++;
                continue;
            }
        }
        bool invalidated = stream_invalidated(access);
        unsigned kind = stream_kind(access);
        unsigned uses = kind == STREAM_READ_MODIFY_WRITE ? 2 : 1;
        locality->histograms->width[stream_width(access)] += uses;
        for (unsigned use = 0; use < uses; use++)
            for (unsigned size = 0; size < sizes; size++)
                for (uint64_t line = address >> shifts[size]; line <= last >> shifts[size];
                     line++) {
                    bool store = kind == ACCESS_STORE || use == 1;
                    struct exact_reuse reuse = count_use(locality, cell, size, line, store);
                    if (size == 0 && __builtin_expect(locality->partitions.stacks.count > 0, 0))
                        exact_partitions_use(&locality->partitions.stacks, cell->object,
                                             cell->region, line);
                    if (size == 0 && __builtin_expect(locality->partitions.groups.count > 0, 0))
                        exact_partitions_use(&locality->partitions.groups, cell->object,
                                             cell->region, line);
                    if (__builtin_expect(invalidated, 0) && size == 0 &&
                        reuse.distance != EXACT_STACK_COLD) {
                        locality->histograms->invalidated[histogram_bin_of(reuse.distance)]++;
                        invalidated = false;
                    }
                }
        if (calls && stream_call_flags(access) != 0)
            regions_follow(&locality->regions, locality->thread, access);
    }
}

static void batch(void *state, const struct stream_access *accesses, size_t count)
{
    struct locality *locality = state;
    if (locality == NULL)
        return;
    uint32_t epoch = objects_epoch();
    locality->version = heap_version();
    if (locality->epoch != epoch) {
        locality->epoch = epoch;
        locality_forget_ranges(locality);
    }
    uint64_t far_before = locality->stacks[0].far;
    if (locality->sampled != NULL)
        locality_analyse_sample(locality, accesses, count);
    else if (regions_follow_calls())
        analyse(locality, accesses, count, size_count, true);
    else if (size_count == 1)
        analyse(locality, accesses, count, 1, false);
    else if (size_count == 2)
        analyse(locality, accesses, count, 2, false);
    else
        analyse(locality, accesses, count, size_count, false);
    partitions_choose(&locality->partitions, &locality->stacks[0], shifts[0], &locality->counts);
    locality->prefetch = (locality->stacks[0].far - far_before) * PREFETCH_SHARE > count;
}

void locality_region(void *state, uint32_t region)
{
    struct locality *locality = state;
    if (locality == NULL)
        return;
    if (region != 0)
        regions_span_begin(&locality->regions, region);
    else
        regions_span_end(&locality->regions);
}

const struct exact_stack *locality_stack(const void *state)
{
    const struct locality *locality = state;
    return locality != NULL ? &locality->stacks[0] : NULL;
}

const struct stream_consumer locality_consumer = {
    .thread_started = locality_thread_started,
    .batch = batch,
    .thread_ended = locality_thread_ended,
};
