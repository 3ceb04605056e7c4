/* SPDX-License-Identifier: BSD-3-Clause */
/* See exact_partition.h. */
#include "reuse/exact_partition.h"

#include <string.h>

struct selection {
    uint32_t object;
    bool wanted; /* lines of the object, or all others */
    uint32_t (*object_of)(void *context, uint64_t line);
    void *context;
};

static bool is_selected(void *context, uint64_t line)
{
    const struct selection *selection = context;
    return (selection->object_of(selection->context, line) == selection->object) ==
           selection->wanted;
}

static void destroy(struct exact_partition *partition)
{
    exact_stack_destroy(&partition->isolated);
    exact_stack_destroy(&partition->rest);
    for (unsigned i = 0; i <= partition->member_count; i++)
        exact_tallies_destroy(&partition->counts[i]);
}

bool exact_partition_add(struct exact_partitions *partitions, uint32_t object,
                         const struct exact_stack *everything, const struct exact_counts *before,
                         uint32_t (*object_of)(void *context, uint64_t line), void *context)
{
    if (partitions->count == EXACT_PARTITIONS_MAX)
        return false;
    struct exact_partition *partition = &partitions->items[partitions->count];
    struct selection selection = {object, true, object_of, context};
    memset(partition, 0, sizeof *partition);
    partition->members[0] = object;
    partition->member_count = 1;
    if (!exact_stack_filter(&partition->isolated, everything, false, is_selected, &selection))
        return false;
    selection.wanted = false;
    if (!exact_stack_filter(&partition->rest, everything, false, is_selected, &selection)) {
        exact_stack_destroy(&partition->isolated);
        return false;
    }
    exact_tallies_add_counts(&partition->counts[0], before);
    partitions->count++;
    return true;
}

bool exact_partition_add_group(struct exact_partitions *partitions)
{
    if (partitions->count == EXACT_PARTITIONS_MAX)
        return false;
    struct exact_partition *partition = &partitions->items[partitions->count];
    memset(partition, 0, sizeof *partition);
    if (!exact_stack_create(&partition->isolated))
        return false;
    if (!exact_stack_create(&partition->rest)) {
        exact_stack_destroy(&partition->isolated);
        return false;
    }
    partitions->count++;
    return true;
}

bool exact_partition_join(struct exact_partition *partition, uint32_t object)
{
    if (partition->member_count == EXACT_MEMBERS_MAX)
        return false;
    partition->members[partition->member_count++] = object;
    return true;
}

void exact_partition_remove(struct exact_partitions *partitions, unsigned index)
{
    destroy(&partitions->items[index]);
    partitions->items[index] = partitions->items[--partitions->count];
}

void exact_partitions_destroy(struct exact_partitions *partitions)
{
    for (unsigned i = 0; i < partitions->count; i++)
        destroy(&partitions->items[i]);
    memset(partitions, 0, sizeof *partitions);
}

/* What counts an object's uses: its number among the members and one, or 0. */
static unsigned place_of(const struct exact_partition *partition, uint32_t object)
{
    for (unsigned i = 0; i < partition->member_count; i++)
        if (partition->members[i] == object)
            return i + 1;
    return 0;
}

void exact_partitions_use(struct exact_partitions *partitions, uint32_t object, uint32_t region,
                          uint64_t line)
{
    for (unsigned i = 0; i < partitions->count; i++) {
        struct exact_partition *partition = &partitions->items[i];
        unsigned place = place_of(partition, object);
        struct exact_reuse reuse =
            exact_stack_use(place ? &partition->isolated : &partition->rest, line);
        exact_tallies_use(&partition->counts[place], region, reuse.distance);
    }
}
