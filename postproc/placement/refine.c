/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/refine.h"

#include <stdlib.h>
#include <string.h>

#include "placement/swap.h"
#include "support/memory.h"

enum { SIZE_LIMIT = 4096 };

/* Slots in the order of their places, and who is where. */
struct slots {
    size_t count;
    uint32_t *place;                      /* of each slot */
    uint32_t *group[TREE_LEVELS_MAX + 1]; /* of each slot, per level of the tree and places */
    size_t groups[TREE_LEVELS_MAX + 1];
    uint32_t *slot_of; /* units: the threads, then empty ones */
    size_t levels;     /* of the tree and, where a place holds several, the places */
};

static void make_slots(const struct placement_tree *tree, const uint32_t *capacity,
                       struct slots *slots)
{
    bool several = false;
    size_t count = 0;

    for (size_t i = 0; i < tree->places; i++) {
        count += capacity[i];
        several |= capacity[i] > 1;
    }
    slots->count = count;
    slots->place = allocate_zeroed(count, sizeof(*slots->place));
    slots->slot_of = allocate_zeroed(count, sizeof(*slots->slot_of));
    count = 0;
    for (uint32_t i = 0; i < tree->places; i++)
        for (uint32_t k = 0; k < capacity[i]; k++)
            slots->place[count++] = i;
    slots->levels = tree->level_count + (several ? 1 : 0);
    for (size_t level = 0; level < slots->levels; level++) {
        bool leaf = level == tree->level_count;

        slots->groups[level] = leaf ? tree->places : tree->levels[level].groups;
        slots->group[level] = allocate_zeroed(slots->count, sizeof(uint32_t));
        for (size_t i = 0; i < slots->count; i++)
            slots->group[level][i] =
                leaf ? slots->place[i] : tree->levels[level].group[slots->place[i]];
    }
}

static void free_slots(struct slots *slots)
{
    for (size_t level = 0; level < slots->levels; level++)
        free(slots->group[level]);
    free(slots->place);
    free(slots->slot_of);
}

/* Seats the threads at their places; the empty units take what is left. */
static void seat_threads(struct slots *slots, const uint32_t *place, size_t threads, size_t places)
{
    size_t *next = allocate_zeroed(places + 1, sizeof(*next));
    bool *taken = allocate_zeroed(slots->count, sizeof(*taken));
    size_t unit = threads;

    for (size_t i = slots->count; i-- > 0;)
        next[slots->place[i]] = i;
    for (size_t thread = 0; thread < threads; thread++) {
        size_t slot = next[place[thread]]++;

        slots->slot_of[thread] = (uint32_t)slot;
        taken[slot] = true;
    }
    for (size_t slot = 0; slot < slots->count; slot++)
        if (!taken[slot])
            slots->slot_of[unit++] = (uint32_t)slot;
    free(taken);
    free(next);
}

/*
 * Whether a level's groups are built alike, each from the same number of slots below every group of
 * the levels inside: then any two can change places. Uneven trees are refined thread by thread.
 */
static bool is_even(const struct slots *slots, size_t level)
{
    for (size_t inner = level; inner < slots->levels; inner++) {
        size_t each = slots->count / slots->groups[inner];

        if (each * slots->groups[inner] != slots->count)
            return false;
        for (size_t i = 0; i < slots->count; i++)
            if (slots->group[inner][i] != i / each)
                return false;
    }
    return true;
}

/* The communication between a level's groups. */
static struct communication_matrix *coarse_matrix(const struct communication_matrix *matrix,
                                                  const struct slots *slots, size_t level)
{
    ARRAY(struct traffic_pair) pairs = {0};
    struct communication_matrix *coarse;

    for (uint32_t a = 0; a < matrix->threads; a++)
        for (size_t i = matrix->begin[a]; i < matrix->begin[a + 1]; i++) {
            const struct matrix_entry *entry = &matrix->entries[i];

            if (entry->column > a)
                ARRAY_PUSH(&pairs,
                           ((struct traffic_pair){
                               slots->group[level][slots->slot_of[a]],
                               slots->group[level][slots->slot_of[entry->column]], entry->weight}));
        }
    coarse = matrix_create(slots->groups[level], pairs.items, pairs.count);
    free(pairs.items);
    return coarse;
}

/* Exchanges whole groups of a level between those that hold them. */
static void swap_groups(const struct communication_matrix *matrix, struct slots *slots,
                        size_t level)
{
    size_t groups = slots->groups[level], each = slots->count / groups;
    struct communication_matrix *coarse = coarse_matrix(matrix, slots, level);
    uint32_t *moved_to = allocate_zeroed(groups, sizeof(*moved_to));
    uint32_t *outer[TREE_LEVELS_MAX + 1];
    struct swap_problem problem = {.matrix = coarse,
                                   .slots = groups,
                                   .levels = level,
                                   .group = (const uint32_t *const *)outer,
                                   .groups = slots->groups};

    for (size_t l = 0; l < level; l++) {
        outer[l] = allocate_zeroed(groups, sizeof(uint32_t));
        for (size_t i = 0; i < groups; i++)
            outer[l][i] = slots->group[l][i * each];
    }
    for (uint32_t i = 0; i < groups; i++)
        moved_to[i] = i;
    swap_until_stable(&problem, moved_to);
    for (size_t unit = 0; unit < slots->count; unit++) {
        uint32_t slot = slots->slot_of[unit];

        slots->slot_of[unit] = (uint32_t)(moved_to[slot / each] * each + slot % each);
    }
    for (size_t l = 0; l < level; l++)
        free(outer[l]);
    free(moved_to);
    matrix_free(coarse);
}

bool refine_mapping(const struct communication_matrix *matrix, const struct placement_tree *tree,
                    const uint32_t *capacity, uint32_t *place)
{
    struct slots slots = {0};
    struct swap_problem problem = {.matrix = matrix};
    bool possible;

    make_slots(tree, capacity, &slots);
    possible = slots.count <= SIZE_LIMIT && tree->places <= SIZE_LIMIT;
    if (possible && matrix->total > 0) {
        seat_threads(&slots, place, matrix->threads, tree->places);
        for (size_t level = 2; level < slots.levels; level++)
            if (is_even(&slots, level))
                swap_groups(matrix, &slots, level);
        problem.slots = slots.count;
        problem.levels = slots.levels;
        problem.group = (const uint32_t *const *)slots.group;
        problem.groups = slots.groups;
        swap_until_stable(&problem, slots.slot_of);
        for (size_t thread = 0; thread < matrix->threads; thread++)
            place[thread] = slots.place[slots.slot_of[thread]];
    }
    free_slots(&slots);
    return possible;
}
