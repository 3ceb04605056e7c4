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
    exact_tallies_destroy(&partition->counts[0]);
    exact_tallies_destroy(&partition->counts[1]);
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
    partition->object = object;
    if (!exact_stack_filter(&partition->isolated, everything, is_selected, &selection))
        return false;
    selection.wanted = false;
    if (!exact_stack_filter(&partition->rest, everything, is_selected, &selection)) {
        exact_stack_destroy(&partition->isolated);
        return false;
    }
    exact_tallies_add_counts(&partition->counts[0], before);
    partitions->count++;
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

void exact_partitions_use(struct exact_partitions *partitions, uint32_t object, uint32_t region,
                          uint64_t line)
{
    for (unsigned i = 0; i < partitions->count; i++) {
        struct exact_partition *partition = &partitions->items[i];
        bool isolated = partition->object == object;
        struct exact_reuse reuse =
            exact_stack_use(isolated ? &partition->isolated : &partition->rest, line);
        exact_tallies_use(&partition->counts[isolated], region, reuse.distance);
    }
}
