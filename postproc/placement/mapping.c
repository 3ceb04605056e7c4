/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/mapping.h"

#include <stdlib.h>
#include <string.h>

#include "sampling/random.h"
#include "support/memory.h"

/* Takes a slot in the group that is least full for its size, level by level. */
static uint32_t emptiest_place(const struct placement_tree *tree, const uint32_t *used,
                               const uint32_t *size, const size_t *first_group)
{
    size_t low = 0, high = tree->places;

    for (size_t level = 1; level < tree->level_count; level++) {
        const struct tree_level *here = &tree->levels[level];
        size_t best = SIZE_MAX, best_low = low, best_high = high;

        for (size_t at = low; at < high;) {
            size_t group = first_group[level] + here->group[at], end = at;

            while (end < high && here->group[end] == here->group[at])
                end++;
            /* used/size, compared without division */
            if (best == SIZE_MAX ||
                (uint64_t)used[group] * size[best] < (uint64_t)used[best] * size[group]) {
                best = group;
                best_low = at;
                best_high = end;
            }
            at = end;
        }
        low = best_low;
        high = best_high;
    }
    for (size_t at = low + 1; at < high; at++)
        if (used[first_group[tree->level_count] + at] < used[first_group[tree->level_count] + low])
            low = at;
    return (uint32_t)low;
}

/* Numbers the groups of all levels and the places as one; returns how many there are. */
static size_t number_groups(const struct placement_tree *tree, size_t *first_group)
{
    size_t count = 0;

    for (size_t level = 0; level < tree->level_count; level++) {
        first_group[level] = count;
        count += tree->levels[level].groups;
    }
    first_group[tree->level_count] = count;
    return count + tree->places;
}

void mapping_scatter(const struct placement_tree *tree, size_t threads, uint32_t *place)
{
    size_t first_group[TREE_LEVELS_MAX + 1];
    size_t groups = number_groups(tree, first_group);
    uint32_t *used = allocate_zeroed(groups, sizeof(*used));
    uint32_t *size = allocate_zeroed(groups, sizeof(*size));

    for (size_t level = 0; level < tree->level_count; level++)
        for (size_t i = 0; i < tree->places; i++)
            size[first_group[level] + tree->levels[level].group[i]]++;
    for (size_t thread = 0; thread < threads; thread++) {
        uint32_t at = emptiest_place(tree, used, size, first_group);

        place[thread] = at;
        for (size_t level = 0; level < tree->level_count; level++)
            used[first_group[level] + tree->levels[level].group[at]]++;
        used[first_group[tree->level_count] + at]++;
    }
    free(used);
    free(size);
}

void mapping_identity(const struct placement_tree *tree, size_t threads, uint32_t *place)
{
    for (size_t thread = 0; thread < threads; thread++)
        place[thread] = (uint32_t)(thread % tree->places);
}

void capacity_spread(const struct placement_tree *tree, size_t threads, uint32_t *capacity)
{
    uint32_t *place = allocate_zeroed(threads, sizeof(*place));

    memset(capacity, 0, tree->places * sizeof(*capacity));
    mapping_scatter(tree, threads, place);
    for (size_t thread = 0; thread < threads; thread++)
        capacity[place[thread]]++;
    free(place);
}

void capacity_packed(const struct placement_tree *tree, size_t threads, uint32_t *capacity)
{
    if (threads > tree->places) {
        capacity_spread(tree, threads, capacity);
        return;
    }
    for (size_t i = 0; i < tree->places; i++)
        capacity[i] = 1;
}

/* Calls for each unordered pair that communicates. */
#define FOR_EACH_PAIR(matrix, a, entry)                                                            \
    for (uint32_t a = 0; a < (matrix)->threads; a++)                                               \
        for (const struct matrix_entry *entry = &(matrix)->entries[(matrix)->begin[a]];            \
             entry < &(matrix)->entries[(matrix)->begin[a + 1]]; entry++)                          \
            if (entry->column > a)

double mapping_hop_bytes(const struct communication_matrix *matrix,
                         const struct placement_tree *tree, const uint32_t *place)
{
    double sum = 0;

    FOR_EACH_PAIR (matrix, a, entry)
        sum += entry->weight * tree_distance(tree, place[a], place[entry->column]);
    return sum;
}

double mapping_quality(const struct communication_matrix *matrix, const struct placement_tree *tree,
                       const uint32_t *place)
{
    double sum = 0;

    FOR_EACH_PAIR (matrix, a, entry)
        sum += entry->weight / (tree_eagermap_distance(tree, place[a], place[entry->column]) + 1);
    return sum;
}

void mapping_shares(const struct communication_matrix *matrix, const struct placement_tree *tree,
                    const uint32_t *place, double *share)
{
    for (size_t level = 0; level < tree->level_count; level++)
        share[level] = 0;
    FOR_EACH_PAIR (matrix, a, entry) {
        size_t common = tree_common_level(tree, place[a], place[entry->column]);

        share[common < tree->level_count ? common : tree->level_count - 1] += entry->weight;
    }
    for (size_t level = tree->level_count - 1; level > 0; level--)
        share[level - 1] += share[level];
    for (size_t level = tree->level_count; level-- > 0;)
        share[level] = share[0] > 0 ? share[level] / share[0] : 1;
}

/* Distances of all pairs of places in a table: random mappings ask for them a lot. */
enum { TABLE_PLACES_MAX = 4096 };

static uint8_t *distance_table(const struct placement_tree *tree)
{
    uint8_t *table;

    if (tree->places > TABLE_PLACES_MAX)
        return NULL;
    table = allocate_zeroed(tree->places * tree->places, 1);
    for (uint32_t a = 0; a < tree->places; a++)
        for (uint32_t b = 0; b < tree->places; b++)
            table[a * tree->places + b] = (uint8_t)tree_distance(tree, a, b);
    return table;
}

static double hop_bytes_by_table(const struct communication_matrix *matrix, size_t places,
                                 const uint8_t *table, const uint32_t *place)
{
    double sum = 0;

    FOR_EACH_PAIR (matrix, a, entry)
        sum += entry->weight * table[place[a] * places + place[entry->column]];
    return sum;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The place of every slot: a place with room for two stands there twice. */
static uint32_t *list_slots(const struct placement_tree *tree, const uint32_t *capacity,
                            size_t *count)
{
    uint32_t *slots;

    *count = 0;
    for (size_t i = 0; i < tree->places; i++)
        *count += capacity[i];
    slots = allocate_zeroed(*count, sizeof(*slots));
    *count = 0;
    for (uint32_t i = 0; i < tree->places; i++)
        for (uint32_t k = 0; k < capacity[i]; k++)
            slots[(*count)++] = i;
    return slots;
}

double mapping_random_median(const struct communication_matrix *matrix,
                             const struct placement_tree *tree, const uint32_t *capacity,
                             size_t mappings, uint64_t seed)
{
    double *costs = allocate_zeroed(mappings, sizeof(*costs)), median;
    uint8_t *table = distance_table(tree);
    size_t count;
    uint32_t *slots = list_slots(tree, capacity, &count);
    struct random random;

    random_seed(&random, seed);
    for (size_t i = 0; i < mappings; i++) {
        /* The first slots of a shuffled list are the threads' places. */
        for (size_t at = 0; at < matrix->threads; at++) {
            size_t other = at + random_below(&random, (uint32_t)(count - at));
            uint32_t kept = slots[at];

            slots[at] = slots[other];
            slots[other] = kept;
        }
        costs[i] = table != NULL ? hop_bytes_by_table(matrix, tree->places, table, slots)
                                 : mapping_hop_bytes(matrix, tree, slots);
    }
    qsort(costs, mappings, sizeof(*costs), compare_doubles);
    median = mappings % 2 == 1 ? costs[mappings / 2]
                               : (costs[mappings / 2 - 1] + costs[mappings / 2]) / 2;
    free(slots);
    free(table);
    free(costs);
    return median;
}
