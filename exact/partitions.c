/* SPDX-License-Identifier: BSD-3-Clause */
/* See partitions.h. Everything is at the run's line size. */
#include "partitions.h"

#include <stdlib.h>
#include <string.h>

#include "histograms.h"
#include "objects.h"
#include "partition_groups.h"
#include "regions.h"

enum {
    LINES_TO_FOLLOW = 64, /* a way of the A64FX's first level has 64 lines: fewer need no sector */
    SUMS_MAX = 256,       /* objects followed by any thread, by themselves or in groups */
    FIRST_ELECTION = 1 << 20, /* accesses; then each time they have doubled */
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

bool partitions_start(struct partitions *partitions)
{
    for (unsigned g = 0; g < partition_groups_count(); g++)
        if (!exact_partition_add_group(&partitions->groups))
            return false;
    return true;
}

void partitions_note_object(struct partitions *partitions, uint32_t object)
{
    if (partitions->groups.count == 0)
        return;
    if (object >= partitions->sorted_objects) {
        uint32_t objects = 2 * object + 64;
        bool *sorted = realloc(partitions->sorted, objects * sizeof *sorted);
        if (sorted == NULL)
            return;
        memset(sorted + partitions->sorted_objects, 0,
               (objects - partitions->sorted_objects) * sizeof *sorted);
        partitions->sorted = sorted;
        partitions->sorted_objects = objects;
    }
    if (partitions->sorted[object])
        return;
    partitions->sorted[object] = true;
    uint32_t of = partition_groups_of(object);
    for (unsigned g = 0; g < partitions->groups.count; g++)
        if (of >> g & 1)
            (void)exact_partition_join(&partitions->groups.items[g], object);
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

static void follow(struct partitions *partitions, uint32_t object,
                   const struct exact_stack *everything, unsigned line_shift,
                   const struct exact_counts *counts)
{
    exact_partition_add(&partitions->stacks, object, everything, counts, object_of_line,
                        &line_shift);
}

/* Uses of each object that a small sector would miss. */
static void add_late(void *context, const struct exact_cell *cell, unsigned line_size, uint32_t bin,
                     uint64_t count)
{
    uint64_t *late = context;
    if (line_size == 0 && bin >= exact_bin_of(LINES_TO_FOLLOW))
        late[cell->object] += count;
}

static bool is_followed(const struct partitions *partitions, uint32_t object)
{
    for (unsigned i = 0; i < partitions->stacks.count; i++)
        if (partitions->stacks.items[i].members[0] == object)
            return true;
    return false;
}

/* Objects that are used late more than twice as often as a followed one take its place. */
static void elect(struct partitions *partitions, const struct exact_stack *everything,
                  unsigned line_shift, const struct exact_counts *counts)
{
    uint32_t objects = 0;
    for (uint32_t i = 0; i < counts->cell_count; i++)
        if (counts->cells[i]->object >= objects)
            objects = counts->cells[i]->object + 1;
    uint64_t *late = calloc(objects + 1u, sizeof *late);
    if (late == NULL)
        return;
    exact_counts_each(counts, add_late, late);
    for (;;) {
        uint32_t best = 0;
        for (uint32_t object = 1; object < objects; object++)
            if (late[object] > late[best] && !is_followed(partitions, object) &&
                may_be_isolated(object))
                best = object;
        unsigned worst = 0;
        for (unsigned i = 1; i < partitions->stacks.count; i++)
            if (late[partitions->stacks.items[i].members[0]] <
                late[partitions->stacks.items[worst].members[0]])
                worst = i;
        if (best == 0 || (partitions->stacks.count == wanted &&
                          late[best] / 2 <= late[partitions->stacks.items[worst].members[0]]))
            break;
        if (partitions->stacks.count == wanted)
            exact_partition_remove(&partitions->stacks, worst);
        unsigned before = partitions->stacks.count;
        follow(partitions, best, everything, line_shift, counts);
        if (partitions->stacks.count == before)
            break;
    }
    free(late);
}

void partitions_choose(struct partitions *partitions, const struct exact_stack *everything,
                       unsigned line_shift, const struct exact_counts *counts)
{
    if (partitions->ripe != 0)
        follow(partitions, partitions->ripe, everything, line_shift, counts);
    partitions->ripe = 0;
    if (wanted == 0 || everything->clock < partitions->next_election)
        return;
    if (partitions->next_election != 0)
        elect(partitions, everything, line_shift, counts);
    partitions->next_election =
        everything->clock < FIRST_ELECTION ? FIRST_ELECTION : 2 * everything->clock;
}

void partitions_destroy(struct partitions *partitions)
{
    exact_partitions_destroy(&partitions->stacks);
    exact_partitions_destroy(&partitions->groups);
    free(partitions->sorted);
    free(partitions->cold_lines);
}

/* An object by itself; or a group's rest, or one of its members. */
struct partition_sum {
    uint32_t group; /* from 1 on; 0: the object by itself */
    bool is_rest;   /* of a group */
    uint32_t object;
    struct exact_tallies counts[2]; /* rest, isolated: of the threads that follow it */
    struct exact_tallies all;       /* everything of those threads */
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
    for (size_t i = 0; sums != NULL && i < sums->count; i++) {
        exact_tallies_destroy(&sums->items[i]->counts[0]);
        exact_tallies_destroy(&sums->items[i]->counts[1]);
        exact_tallies_destroy(&sums->items[i]->all);
        free(sums->items[i]);
    }
    free(sums);
}

static struct partition_sum *sum_of(struct partition_sums *sums, uint32_t group, bool is_rest,
                                    uint32_t object)
{
    for (size_t i = 0; i < sums->count; i++)
        if (sums->items[i]->group == group && sums->items[i]->is_rest == is_rest &&
            sums->items[i]->object == object)
            return sums->items[i];
    struct partition_sum *sum = sums->count < SUMS_MAX ? calloc(1, sizeof *sum) : NULL;
    if (sum != NULL) {
        sum->group = group;
        sum->is_rest = is_rest;
        sum->object = object;
        sums->items[sums->count++] = sum;
    }
    return sum;
}

static void add_group(struct partition_sums *sums, uint32_t group,
                      const struct exact_partition *partition, const struct exact_counts *counts)
{
    struct partition_sum *rest = sum_of(sums, group, true, OBJECT_NUMBER_UNKNOWN);
    if (rest != NULL) {
        exact_tallies_add(&rest->counts[0], &partition->counts[0]);
        exact_tallies_add_counts(&rest->all, counts);
    }
    for (unsigned i = 0; i < partition->member_count; i++) {
        struct partition_sum *sum = sum_of(sums, group, false, partition->members[i]);
        if (sum != NULL)
            exact_tallies_add(&sum->counts[1], &partition->counts[1 + i]);
    }
}

void partition_sums_add(struct partition_sums *sums, const struct partitions *partitions,
                        const struct exact_counts *counts)
{
    for (unsigned i = 0; i < partitions->stacks.count; i++) {
        const struct exact_partition *partition = &partitions->stacks.items[i];
        struct partition_sum *sum = sum_of(sums, 0, false, partition->members[0]);
        if (sum == NULL)
            continue;
        exact_tallies_add(&sum->counts[0], &partition->counts[0]);
        exact_tallies_add(&sum->counts[1], &partition->counts[1]);
        exact_tallies_add_counts(&sum->all, counts);
    }
    for (unsigned g = 0; g < partitions->groups.count; g++)
        add_group(sums, g + 1, &partitions->groups.items[g], counts);
}

void partition_sums_merge(struct partition_sums *into, const struct partition_sums *from)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct partition_sum *other = from->items[i];
        struct partition_sum *sum = sum_of(into, other->group, other->is_rest, other->object);
        if (sum == NULL)
            continue;
        exact_tallies_add(&sum->counts[0], &other->counts[0]);
        exact_tallies_add(&sum->counts[1], &other->counts[1]);
        exact_tallies_add(&sum->all, &other->all);
    }
}

/* Adds (sign 1) or takes off (-1) what was counted in a region; 0: in all. */
static void add_region(struct exact_tally *sum, const struct exact_tallies *tallies,
                       uint32_t region, int sign)
{
    for (uint32_t node = 0; node < tallies->capacity; node++) {
        const struct exact_tally *tally = tallies->items[node];
        if (tally == NULL || (region != 0 && !regions_contain(node, region)))
            continue;
        sum->accesses += (uint64_t)sign * tally->accesses;
        sum->cold += (uint64_t)sign * tally->cold;
        for (uint32_t bin = 0; bin < EXACT_BIN_COLD; bin++)
            sum->distance[bin] += (uint64_t)sign * tally->distance[bin];
    }
}

static void write_sum(const struct partition_sum *sum, struct profile_writer *writer,
                      const struct exact_tallies *all, uint32_t region, uint64_t now_ns)
{
    struct histogram_bin bins[EXACT_BIN_COLD];
    struct object_identity identity = object_identity(sum->object);
    for (unsigned isolated = 0; isolated < 2; isolated++) {
        struct exact_tally tally = {0};
        if (sum->group != 0 && sum->is_rest == (isolated != 0))
            continue;
        add_region(&tally, &sum->counts[isolated], region, 1);
        if (!isolated) { /* threads that do not follow the object have nothing but a rest */
            add_region(&tally, all, region, 1);
            add_region(&tally, &sum->all, region, -1);
        }
        struct record_histogram record = {.scope =
                                              isolated ? SCOPE_PARTITION : SCOPE_PARTITION_REST,
                                          .measure = MEASURE_STACK_DISTANCE,
                                          .region_id = (uint16_t)region,
                                          .line_size = locality_line_size(0),
                                          .key = (uint64_t)sum->group << HISTOGRAM_GROUP_SHIFT |
                                                 (uint64_t)identity.kind << 32 | identity.reference,
                                          .key2 = identity.symbol,
                                          .accesses = tally.accesses,
                                          .cold = tally.cold,
                                          .rate_denominator = 1};
        for (uint32_t bin = 0; bin < EXACT_BIN_COLD; bin++)
            if (tally.distance[bin] != 0)
                bins[record.bin_count++] = histograms_bin(bin, tally.distance[bin]);
        profile_writer_append(writer, RECORD_HISTOGRAM, &record, sizeof record, bins,
                              record.bin_count * sizeof *bins, now_ns);
    }
}

void partition_sums_write(const struct partition_sums *sums, struct profile_writer *writer,
                          const struct exact_counts *counts, uint64_t now_ns)
{
    struct exact_tallies all = {0};
    if (sums->count > 0)
        exact_tallies_add_counts(&all, counts);
    for (size_t i = 0; i < sums->count; i++)
        for (uint32_t region = 0; region <= regions_split(); region++)
            write_sum(sums->items[i], writer, &all, region, now_ns);
    exact_tallies_destroy(&all);
}
