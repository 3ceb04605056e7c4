/* SPDX-License-Identifier: BSD-3-Clause */
/* See exact_partition.h. */
#include "reuse/exact_partition.h"

#include <stdlib.h>
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

bool exact_partition_add(struct exact_partitions *partitions, uint32_t object,
                         const struct exact_stack *everything,
                         const struct exact_partition_counts *before,
                         uint32_t (*object_of)(void *context, uint64_t line), void *context)
{
    if (partitions->count == EXACT_PARTITIONS_MAX)
        return false;
    struct exact_partition *partition = &partitions->items[partitions->count];
    struct selection selection = {object, true, object_of, context};
    partition->object = object;
    partition->counts = calloc(2, sizeof *partition->counts);
    if (partition->counts == NULL)
        return false;
    if (!exact_stack_filter(&partition->isolated, everything, is_selected, &selection)) {
        free(partition->counts);
        return false;
    }
    selection.wanted = false;
    if (!exact_stack_filter(&partition->rest, everything, is_selected, &selection)) {
        exact_stack_destroy(&partition->isolated);
        free(partition->counts);
        return false;
    }
    partition->counts[0] = *before;
    partitions->count++;
    return true;
}

void exact_partitions_destroy(struct exact_partitions *partitions)
{
    for (unsigned i = 0; i < partitions->count; i++) {
        exact_stack_destroy(&partitions->items[i].isolated);
        exact_stack_destroy(&partitions->items[i].rest);
        free(partitions->items[i].counts);
    }
    memset(partitions, 0, sizeof *partitions);
}

void exact_partitions_use(struct exact_partitions *partitions, uint32_t object, uint64_t line)
{
    for (unsigned i = 0; i < partitions->count; i++) {
        struct exact_partition *partition = &partitions->items[i];
        bool isolated = partition->object == object;
        struct exact_partition_counts *counts = &partition->counts[isolated];
        struct exact_reuse reuse =
            exact_stack_use(isolated ? &partition->isolated : &partition->rest, line);
        counts->accesses++;
        if (reuse.distance == EXACT_STACK_COLD)
            counts->cold++;
        else
            counts->distance[histogram_bin_of(reuse.distance)]++;
    }
}
