/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread's analysis from its start to its end, and sums over live and ended threads. */
#include "locality_internal.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"

void (*locality_thread_done)(struct guest_thread *, const struct locality_histograms *);

/* What ended threads leave; under ended_lock. */
static pthread_mutex_t ended_lock = PTHREAD_MUTEX_INITIALIZER;
static struct exact_counts ended_counts;
static struct locality_histograms *ended_histograms;
static struct partition_sums *ended_partitions;

static void destroy(struct locality *locality)
{
    for (unsigned size = 0; size < locality_line_sizes(); size++)
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

void *locality_thread_started(struct guest_thread *thread)
{
    struct locality *locality = calloc(1, sizeof *locality);
    if (locality == NULL)
        return NULL;
    locality->thread = thread;
    locality->histograms = calloc(1, sizeof *locality->histograms);
    if (locality_rate() > 1)
        locality->sampled = calloc(1, sizeof *locality->sampled);
    bool whole = locality->histograms != NULL &&
                 (locality_rate() == 1 || locality->sampled != NULL) &&
                 exact_counts_create(&locality->counts, locality_line_sizes());
    for (unsigned size = 0; size < locality_line_sizes() && whole; size++)
        whole = exact_stack_create(&locality->stacks[size]) &&
                (locality_rate() > 1 || exact_stack_keep_marks(&locality->stacks[size]));
    if (whole && partitions_start(&locality->partitions))
        return locality;
    destroy(locality);
    return NULL;
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
            exact_rate_estimate(locality->sampled, locality_rate(), &histograms->cold[0],
                                histograms->distance[0], histograms->time[0]);
        double accesses = (double)locality->sampled->accesses;
        histograms->share_error2 += pow(error.long_share * accesses, 2);
        histograms->lines_error2 += pow(error.lines_share * accesses, 2);
        histograms->accesses[0] += locality->thread->skipped;
    } else {
        histograms_add(histograms, locality->histograms);
        exact_counts_each(&locality->counts, add_near, histograms);
    }
    for (unsigned size = 0; size < locality_line_sizes(); size++)
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
    for (unsigned size = 0; size < locality_line_sizes(); size++) {
        into->accesses[size] += from->accesses[size];
        into->cold[size] += from->cold[size];
        exact_dirty_add(&into->dirty[size], &from->dirty[size]);
        for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++) {
            into->distance[size][bin] += from->distance[size][bin];
            into->time[size][bin] += from->time[size][bin];
        }
    }
}

void *locality_thread_ended(void *state)
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
        if (ended_counts.cells != NULL || exact_counts_create(&ended_counts, locality_line_sizes()))
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

uint64_t locality_bytes(const void *state)
{
    const struct locality *locality = state;
    if (locality == NULL)
        return 0;
    uint64_t bytes = exact_counts_bytes(&locality->counts) +
                     locality->current_capacity * sizeof *locality->current +
                     sizeof *locality->histograms;
    for (unsigned size = 0; size < locality_line_sizes(); size++)
        bytes += exact_stack_bytes(&locality->stacks[size]);
    return bytes;
}

uint64_t locality_lost(const void *state)
{
    const struct locality *locality = state;
    if (locality == NULL)
        return 0;
    uint64_t lost = locality->counts.lost;
    for (unsigned size = 0; size < locality_line_sizes(); size++)
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
