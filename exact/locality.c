/* SPDX-License-Identifier: BSD-3-Clause */
/* See locality.h. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O3")
#endif
#include "locality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "guest_memory.h"
#include "heap.h"
#include "instructions.h"
#include "objects.h"
#include "partitions.h"
#include "regions.h"
#include "reuse/exact_rate.h"

enum {
    PREFETCH_AHEAD = 12,          /* accesses */
    PREFETCH_SHARE = 16,          /* look ahead when more than one access in so many is far */
    ABOVE_FIRST_PUSH = 128 << 10, /* bytes of a stack: arguments, environment, thread data */
};

static unsigned size_count;
static uint32_t rate_denominator = 1;
static unsigned
    shifts[EXACT_LINE_SIZES_MAX]; /* log2 of the line sizes; set before the guest runs */

void (*locality_thread_done)(struct guest_thread *, const struct locality_histograms *);

struct locality {
    struct guest_thread *thread;
    struct exact_stack stacks[EXACT_LINE_SIZES_MAX];
    struct exact_counts counts;
    /* By instruction: the cell that it used last. A thread mostly stays on one object. */
    struct exact_cell **current;
    uint32_t current_capacity;
    uint32_t epoch;   /* objects_epoch() when the cells' address ranges were found */
    uint32_t version; /* heap_version() at the start of the batch */
    bool prefetch;    /* the last batch had many far accesses */
    struct locality_histograms *histograms;
    struct partitions partitions;
    struct region_state regions;       /* node 0 for ever without regions */
    struct exact_rate_counts *sampled; /* NULL when all lines are followed */
    struct exact_rate_burst burst;
    bool in_burst;
};

/* What ended threads leave; under ended_lock. */
static pthread_mutex_t ended_lock = PTHREAD_MUTEX_INITIALIZER;
static struct exact_counts ended_counts;
static struct locality_histograms *ended_histograms;
static struct partition_sums *ended_partitions;

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

static void destroy(struct locality *locality)
{
    for (unsigned size = 0; size < size_count; size++)
        exact_stack_destroy(&locality->stacks[size]);
    exact_counts_destroy(&locality->counts);
    free(locality->current);
    free(locality->histograms);
    if (locality->burst.open)
        exact_stack_destroy(&locality->burst.stack);
    free(locality->sampled);
    partitions_destroy(&locality->partitions);
    exact_calls_destroy(&locality->regions.calls);
    free(locality);
}

static void *thread_started(struct guest_thread *thread)
{
    struct locality *locality = calloc(1, sizeof *locality);
    if (locality == NULL)
        return NULL;
    locality->thread = thread;
    locality->histograms = calloc(1, sizeof *locality->histograms);
    if (rate_denominator > 1)
        locality->sampled = calloc(1, sizeof *locality->sampled);
    bool whole = locality->histograms != NULL &&
                 (rate_denominator == 1 || locality->sampled != NULL) &&
                 exact_counts_create(&locality->counts, size_count);
    for (unsigned size = 0; size < size_count && whole; size++)
        whole = exact_stack_create(&locality->stacks[size]) &&
                (rate_denominator > 1 || exact_stack_keep_marks(&locality->stacks[size]));
    if (whole && partitions_start(&locality->partitions))
        return locality;
    destroy(locality);
    return NULL;
}

static bool know_instruction(struct locality *locality, uint32_t instruction)
{
    if (instruction < locality->current_capacity)
        return true;
    uint32_t capacity = instruction_count() + 4096;
    struct exact_cell **current = realloc(locality->current, capacity * sizeof *current);
    if (current == NULL)
        return false;
    memset(current + locality->current_capacity, 0,
           (capacity - locality->current_capacity) * sizeof *current);
    locality->current = current;
    locality->current_capacity = capacity;
    return true;
}

/* The mapping that a thread first pushes to is its stack, up to a little above that place. */
static void find_stack(struct guest_thread *thread, uint64_t address)
{
    if (!guest_memory_mapping(address, &thread->stack_low, &thread->stack_high)) {
        thread->stack_low = address & ~UINT64_C(4095);
        thread->stack_high = thread->stack_low + 4096;
    }
    uint64_t highest = ((address | 4095) + 1) + ABOVE_FIRST_PUSH;
    if (thread->stack_high > highest)
        thread->stack_high = highest;
    objects_add_stack(thread->thread_id, thread->stack_low, thread->stack_high);
}

/* Whether the cell counts an access to the address now: what is lasting, and what is brief. */
static inline bool fits(const struct locality *locality, const struct exact_cell *cell,
                        uint64_t address)
{
    return address - cell->low < cell->size && cell->region == locality->regions.node;
}
static inline bool fits_briefly(const struct locality *locality, const struct exact_cell *cell,
                                uint64_t address)
{
    return address - cell->brief_low < cell->brief_size &&
           cell->brief_version == locality->version && cell->region == locality->regions.node;
}

/*
 * The cell of an instruction on the object at address, made its current one; NULL when memory is
 * short. `before` is its current one, NULL if it has none: instructions change between few objects.
 */
static __attribute__((noinline)) struct exact_cell *find_cell(struct locality *locality,
                                                              uint32_t instruction,
                                                              uint64_t address,
                                                              struct exact_cell *before)
{
    struct object_range range;
    struct exact_cell *other = before != NULL ? before->other : NULL;
    if (before != NULL && fits_briefly(locality, before, address))
        return before;
    if (other != NULL &&
        (fits(locality, other, address) || fits_briefly(locality, other, address))) {
        other->other = before;
        locality->current[instruction] = other;
        return other;
    }
    if (!know_instruction(locality, instruction))
        return NULL;
    if (locality->thread->stack_high == 0 && instruction_at(instruction)->role & ROLE_PUSH)
        find_stack(locality->thread, address);
    uint32_t object = object_at(address, &range);
    partitions_note_object(&locality->partitions, object);
    struct exact_cell *cell = before;
    uint32_t node = locality->regions.node;
    if (before == NULL || before->object != object || before->region != node)
        cell = exact_counts_cell(&locality->counts, instruction, object, node);
    if (cell == NULL)
        return NULL;
    if (range.lasting) {
        cell->low = range.low;
        cell->size = range.size;
    } else {
        cell->brief_low = range.low;
        cell->brief_size = range.size;
        cell->brief_version = locality->version;
    }
    if (before != cell)
        cell->other = before;
    locality->current[instruction] = cell;
    return cell;
}

/* Ranges of addresses found earlier may belong to other objects by now. */
static void forget_ranges(struct locality *locality)
{
    for (uint32_t i = 0; i < locality->counts.cell_count; i++)
        locality->counts.cells[i]->size = 0;
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
        if (cell == NULL || !fits(locality, cell, address)) {
            cell = find_cell(locality, access->instruction, address, cell);
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

/* One use of a followed line in a sample. */
static void count_sampled_use(struct locality *locality, struct exact_cell *cell, uint64_t line)
{
    struct exact_reuse reuse = exact_stack_use(&locality->stacks[0], line);
    uint64_t n = rate_denominator, distance = reuse.distance * n;
    exact_rate_use(locality->sampled, reuse);
    if (reuse.distance == EXACT_STACK_COLD) {
        exact_counts_add_far(&locality->counts, cell, 0, EXACT_BIN_COLD, n);
        return;
    }
    /* By instruction and object there is no survival to go by: the reuse time limits the distance.
     */
    if (reuse.distance == 0)
        distance = reuse.time - 1 < n / 2 ? reuse.time - 1 : n / 2;
    exact_counts_add_far(&locality->counts, cell, 0, exact_bin_of(distance), n);
}

/* The cell of a sampled access; NULL, and counted, when memory is short. */
static struct exact_cell *sampled_cell(struct locality *locality,
                                       const struct stream_access *access)
{
    uint64_t address = stream_address(access);
    struct exact_cell *cell = access->instruction < locality->current_capacity
                                  ? locality->current[access->instruction]
                                  : NULL;
    if (cell == NULL || !fits(locality, cell, address))
        cell = find_cell(locality, access->instruction, address, cell);
    if (cell == NULL)
        locality->counts.lost++;
    return cell;
}

/* Bursts begin and end. */
static void follow_burst(struct locality *locality, const struct stream_access *access)
{
    bool in_burst = stream_flags(access) & STREAM_BURST;
    if (in_burst && (!locality->in_burst || access->skipped > 0))
        exact_rate_burst_begin(&locality->burst, locality->sampled, locality->stacks[0].clock);
    else if (!in_burst && locality->in_burst)
        exact_rate_burst_end(&locality->burst, locality->sampled);
    locality->in_burst = in_burst;
}

static void analyse_sample(struct locality *locality, const struct stream_access *batch,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct stream_access *access = &batch[i];
        uint64_t address = stream_address(access), last = address + stream_width(access) - 1;
        unsigned uses = stream_uses(access);
        locality->stacks[0].clock += access->skipped;
        follow_burst(locality, access);
        for (unsigned use = 0; use < uses; use++)
            for (uint64_t line = address >> shifts[0]; line <= last >> shifts[0]; line++) {
                struct exact_cell *cell = NULL;
                if (locality->in_burst)
                    exact_rate_burst_use(&locality->burst, locality->sampled, line);
                if (exact_rate_keeps(line, rate_denominator))
                    cell = sampled_cell(locality, access);
                if (cell != NULL)
                    count_sampled_use(locality, cell, line);
                else
                    locality->stacks[0].clock++;
            }
        if (stream_call_flags(access) != 0)
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
        forget_ranges(locality);
    }
    uint64_t far_before = locality->stacks[0].far;
    if (locality->sampled != NULL)
        analyse_sample(locality, accesses, count);
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

static void add_near(void *context, const struct exact_cell *cell, unsigned size, uint32_t bin,
                     uint64_t count)
{
    (void)cell;
    struct locality_histograms *histograms = context;
    if (bin < EXACT_STACK_NEAR)
        histograms->distance[size][bin] += count;
}

void locality_add_thread(void *state, struct locality_histograms *histograms,
                         struct exact_counts *counts)
{
    struct locality *locality = state;
    if (locality == NULL)
        return;
    if (locality->sampled != NULL) {
        exact_rate_burst_end(&locality->burst, locality->sampled);
        locality->sampled->accesses = locality->stacks[0].clock + locality->thread->skipped;
        struct exact_rate_error error =
            exact_rate_estimate(locality->sampled, rate_denominator, &histograms->cold[0],
                                histograms->distance[0], histograms->time[0]);
        double accesses = (double)locality->sampled->accesses;
        histograms->share_error2 += pow(error.long_share * accesses, 2);
        histograms->lines_error2 += pow(error.lines_share * accesses, 2);
        histograms->accesses[0] += locality->thread->skipped;
    } else {
        histograms_add(histograms, locality->histograms);
        exact_counts_each(&locality->counts, add_near, histograms);
    }
    for (unsigned size = 0; size < size_count; size++)
        histograms->accesses[size] += locality->stacks[size].clock;
    if (counts != NULL)
        exact_counts_add(counts, &locality->counts);
}

void histograms_add(struct locality_histograms *into, const struct locality_histograms *from)
{
    into->share_error2 += from->share_error2;
    into->lines_error2 += from->lines_error2;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
        into->invalidated[bin] += from->invalidated[bin];
    for (unsigned width = 0; width <= ACCESS_WIDTH_MAX; width++)
        into->width[width] += from->width[width];
    for (unsigned size = 0; size < size_count; size++) {
        into->accesses[size] += from->accesses[size];
        into->cold[size] += from->cold[size];
        exact_dirty_add(&into->dirty[size], &from->dirty[size]);
        for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++) {
            into->distance[size][bin] += from->distance[size][bin];
            into->time[size][bin] += from->time[size][bin];
        }
    }
}

static void *thread_ended(void *state)
{
    struct locality *locality = state;
    if (locality == NULL)
        return NULL;
    struct locality_histograms *histograms = calloc(1, sizeof *histograms);
    objects_remove_stack(locality->thread->thread_id);
    if (histograms != NULL) {
        locality_add_thread(locality, histograms, NULL);
        if (locality_thread_done != NULL)
            locality_thread_done(locality->thread, histograms);
        pthread_mutex_lock(&ended_lock);
        if (ended_histograms == NULL)
            ended_histograms = calloc(1, sizeof *ended_histograms);
        if (ended_histograms != NULL)
            histograms_add(ended_histograms, histograms);
        if (ended_partitions == NULL)
            ended_partitions = partition_sums_create();
        if (ended_partitions != NULL)
            partition_sums_add(ended_partitions, &locality->partitions, &locality->counts);
        if (ended_counts.cells != NULL || exact_counts_create(&ended_counts, size_count))
            exact_counts_add(&ended_counts, &locality->counts);
        pthread_mutex_unlock(&ended_lock);
        free(histograms);
    }
    destroy(locality);
    return NULL;
}

void locality_add_ended(struct locality_histograms *histograms, struct exact_counts *counts)
{
    pthread_mutex_lock(&ended_lock);
    if (ended_histograms != NULL)
        histograms_add(histograms, ended_histograms);
    if (counts != NULL && ended_counts.cells != NULL)
        exact_counts_add(counts, &ended_counts);
    pthread_mutex_unlock(&ended_lock);
}

void locality_add_partitions(const void *state, struct partition_sums *sums)
{
    const struct locality *locality = state;
    if (locality != NULL)
        partition_sums_add(sums, &locality->partitions, &locality->counts);
}

void locality_add_ended_partitions(struct partition_sums *sums)
{
    pthread_mutex_lock(&ended_lock);
    if (ended_partitions != NULL)
        partition_sums_merge(sums, ended_partitions);
    pthread_mutex_unlock(&ended_lock);
}

const struct exact_stack *locality_stack(const void *state)
{
    const struct locality *locality = state;
    return locality != NULL ? &locality->stacks[0] : NULL;
}

uint64_t locality_bytes(const void *state)
{
    const struct locality *locality = state;
    if (locality == NULL)
        return 0;
    uint64_t bytes = exact_counts_bytes(&locality->counts) +
                     locality->current_capacity * sizeof *locality->current +
                     sizeof *locality->histograms;
    for (unsigned size = 0; size < size_count; size++)
        bytes += exact_stack_bytes(&locality->stacks[size]);
    return bytes;
}

uint64_t locality_lost(const void *state)
{
    const struct locality *locality = state;
    if (locality == NULL)
        return 0;
    uint64_t lost = locality->counts.lost;
    for (unsigned size = 0; size < size_count; size++)
        lost += locality->stacks[size].untracked;
    return lost;
}

void locality_after_fork(void)
{
    pthread_mutex_init(&ended_lock, NULL);
    memset(&ended_counts, 0, sizeof ended_counts);
    ended_histograms = NULL;
    ended_partitions = NULL;
}

const struct stream_consumer locality_consumer = {
    .thread_started = thread_started,
    .batch = batch,
    .thread_ended = thread_ended,
};
