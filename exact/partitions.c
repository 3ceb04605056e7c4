/* SPDX-License-Identifier: BSD-3-Clause */
/* See partitions.h. Everything is at the run's line size. */
#include "partitions.h"

#include <stdlib.h>
#include <string.h>

#include "objects.h"

enum {
    LINES_TO_FOLLOW = 64, /* a way of the A64FX's first level has 64 lines: fewer need no sector */
    SUMS_MAX = 64,        /* objects followed by any thread */
};

static unsigned wanted;

void partitions_set_wanted(unsigned count)
{
    wanted = count < EXACT_PARTITIONS_MAX ? count : EXACT_PARTITIONS_MAX;
}

static bool may_be_isolated(uint32_t object)
{
    struct object_identity identity = object_identity(object);
    return identity.kind == OBJECT_HEAP || identity.kind == OBJECT_MAPPING ||
           identity.kind == OBJECT_NAMED ||
           (identity.kind == OBJECT_GLOBAL && identity.symbol != 0);
}

void partitions_count_cold(struct partitions *partitions, uint32_t object)
{
    if (partitions->stacks.count >= wanted)
        return;
    if (object >= partitions->objects) {
        uint32_t objects = 2 * object + 64;
        uint32_t *lines = realloc(partitions->cold_lines, objects * sizeof *lines);
        if (lines == NULL)
            return;
        memset(lines + partitions->objects, 0, (objects - partitions->objects) * sizeof *lines);
        partitions->cold_lines = lines;
        partitions->objects = objects;
    }
    if (++partitions->cold_lines[object] == LINES_TO_FOLLOW && may_be_isolated(object))
        partitions->ripe = object;
}

static uint32_t object_of_line(void *context, uint64_t line)
{
    struct object_range range;
    return object_at(line << *(const unsigned *)context, &range);
}

void partitions_follow_ripe(struct partitions *partitions, const struct exact_stack *everything,
                            unsigned line_shift, const struct locality_histograms *so_far)
{
    struct exact_partition_counts *before = calloc(1, sizeof *before);
    if (before != NULL) {
        before->accesses = so_far->accesses[0];
        before->cold = so_far->cold[0];
        memcpy(before->distance, so_far->distance[0], sizeof before->distance);
        exact_partition_add(&partitions->stacks, partitions->ripe, everything, before,
                            object_of_line, &line_shift);
    }
    partitions->ripe = 0;
    free(before);
}

void partitions_destroy(struct partitions *partitions)
{
    exact_partitions_destroy(&partitions->stacks);
    free(partitions->cold_lines);
}

struct partition_sum {
    uint32_t object;
    struct exact_partition_counts counts[2]; /* rest, isolated: of the threads that follow it */
    struct exact_partition_counts all;       /* everything of those threads */
};

struct partition_sums {
    size_t count;
    struct partition_sum *items[SUMS_MAX];
};

struct partition_sums *partition_sums_create(void)
{
    return calloc(1, sizeof(struct partition_sums));
}

void partition_sums_destroy(struct partition_sums *sums)
{
    for (size_t i = 0; sums != NULL && i < sums->count; i++)
        free(sums->items[i]);
    free(sums);
}

static struct partition_sum *sum_of(struct partition_sums *sums, uint32_t object)
{
    for (size_t i = 0; i < sums->count; i++)
        if (sums->items[i]->object == object)
            return sums->items[i];
    struct partition_sum *sum = sums->count < SUMS_MAX ? calloc(1, sizeof *sum) : NULL;
    if (sum != NULL) {
        sum->object = object;
        sums->items[sums->count++] = sum;
    }
    return sum;
}

static void add(struct exact_partition_counts *into, const struct exact_partition_counts *from)
{
    into->accesses += from->accesses;
    into->cold += from->cold;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
        into->distance[bin] += from->distance[bin];
}

void partition_sums_add(struct partition_sums *sums, const struct partitions *partitions,
                        const struct locality_histograms *all)
{
    for (unsigned i = 0; i < partitions->stacks.count; i++) {
        const struct exact_partition *partition = &partitions->stacks.items[i];
        struct partition_sum *sum = sum_of(sums, partition->object);
        if (sum == NULL)
            continue;
        add(&sum->counts[0], &partition->counts[0]);
        add(&sum->counts[1], &partition->counts[1]);
        sum->all.accesses += all->accesses[0];
        sum->all.cold += all->cold[0];
        for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
            sum->all.distance[bin] += all->distance[0][bin];
    }
}

void partition_sums_merge(struct partition_sums *into, const struct partition_sums *from)
{
    for (size_t i = 0; i < from->count; i++) {
        struct partition_sum *sum = sum_of(into, from->items[i]->object);
        if (sum == NULL)
            continue;
        add(&sum->counts[0], &from->items[i]->counts[0]);
        add(&sum->counts[1], &from->items[i]->counts[1]);
        add(&sum->all, &from->items[i]->all);
    }
}

void partition_sums_write(const struct partition_sums *sums, struct profile_writer *writer,
                          const struct locality_histograms *all, uint64_t now_ns)
{
    struct histogram_bin *bins = malloc(HISTOGRAM_BIN_COUNT * sizeof *bins);
    for (size_t i = 0; bins != NULL && i < sums->count; i++) {
        const struct partition_sum *sum = sums->items[i];
        struct object_identity identity = object_identity(sum->object);
        for (unsigned isolated = 0; isolated < 2; isolated++) {
            const struct exact_partition_counts *counts = &sum->counts[isolated];
            /* Threads that do not follow the object have nothing but a rest. */
            bool others = isolated == 0;
            struct record_histogram record = {
                .scope = isolated ? SCOPE_PARTITION : SCOPE_PARTITION_REST,
                .measure = MEASURE_STACK_DISTANCE,
                .line_size = locality_line_size(0),
                .key = (uint64_t)identity.kind << 32 | identity.reference,
                .key2 = identity.symbol,
                .accesses = counts->accesses + (others ? all->accesses[0] - sum->all.accesses : 0),
                .cold = counts->cold + (others ? all->cold[0] - sum->all.cold : 0),
                .rate_denominator = 1};
            for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++) {
                uint64_t count = counts->distance[bin] +
                                 (others ? all->distance[0][bin] - sum->all.distance[bin] : 0);
                if (count != 0)
                    bins[record.bin_count++] = (struct histogram_bin){bin, 0, count};
            }
            profile_writer_append(writer, RECORD_HISTOGRAM, &record, sizeof record, bins,
                                  record.bin_count * sizeof *bins, now_ns);
        }
    }
    free(bins);
}
