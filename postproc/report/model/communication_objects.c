/* SPDX-License-Identifier: BSD-3-Clause */
/* Which data object each flow is about, at either end. */
#include <stdlib.h>
#include <string.h>

#include "report/model/communication_view_internal.h"

static bool lies_in_block(const struct flow *flow, uint64_t address)
{
    return address >= flow->object_base && address - flow->object_base < flow->object_size;
}

/* Flows in order of their lines, to find out what else lies on one. */
struct flow_order {
    const struct communication_view *view;
    uint32_t *numbers;
};

static const struct communication_view *ordered_view; /* for compare_lines only */

static int compare_lines(const void *left, const void *right)
{
    const struct flow *a = communication_flow(ordered_view->communication, *(const uint32_t *)left);
    const struct flow *b =
        communication_flow(ordered_view->communication, *(const uint32_t *)right);

    if (a->profile_index != b->profile_index)
        return a->profile_index < b->profile_index ? -1 : 1;
    if (a->line_address != b->line_address)
        return a->line_address < b->line_address ? -1 : 1;
    return (a->object_base > b->object_base) - (a->object_base < b->object_base);
}

static struct flow_order order_by_line(const struct communication_view *view)
{
    struct flow_order order = {.view = view,
                               .numbers = allocate_zeroed(view->count, sizeof(uint32_t))};

    for (size_t i = 0; i < view->count; i++)
        order.numbers[i] = (uint32_t)i;
    ordered_view = view;
    if (view->count > 0)
        qsort(order.numbers, view->count, sizeof(*order.numbers), compare_lines);
    return order;
}

/* A flow of the same line whose block holds the address; NULL if none was seen. */
static const struct flow *neighbour_at(const struct flow_order *order, const struct flow *flow,
                                       uint64_t address)
{
    size_t low = 0, high = order->view->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct flow *other =
            communication_flow(order->view->communication, order->numbers[middle]);

        if (other->profile_index < flow->profile_index ||
            (other->profile_index == flow->profile_index &&
             other->line_address < flow->line_address))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < order->view->count; low++) {
        const struct flow *other =
            communication_flow(order->view->communication, order->numbers[low]);

        if (other->profile_index != flow->profile_index ||
            other->line_address != flow->line_address)
            return NULL;
        if (lies_in_block(other, address))
            return other;
    }
    return NULL;
}

static struct object_reference reference_to(const struct flow *flow, uint64_t address)
{
    struct object_reference reference = {.profile = flow->profile_index,
                                         .kind = flow->object_kind,
                                         .id = flow->object_reference,
                                         .address = address,
                                         .base = flow->object_base,
                                         .size = flow->object_size};

    /* Added up over lines, only the object is known; added up over objects, not even that. */
    if (flow->line_address == 0)
        reference.address = flow->object_base;
    if (flow->line_address == 0 && flow->object_kind == OBJECT_UNKNOWN && flow->destination.ip == 0)
        reference.kind = OBJECT_KIND_NONE;
    return reference;
}

/*
 * The object that the source had used. The profile names that of the destination; outside of its
 * block it is another one, which is known if something came for it as well.
 */
static struct object_reference reference_of_source(const struct flow_order *order,
                                                   const struct flow *flow)
{
    uint64_t address = flow->line_address + flow->source.offset;
    struct object_reference reference = reference_to(flow, address);
    const struct flow *neighbour;

    if (flow->line_address == 0 || flow->object_size == 0 || lies_in_block(flow, address))
        return reference;
    neighbour = neighbour_at(order, flow, address);
    if (neighbour != NULL)
        return reference_to(neighbour, address);
    reference.kind =
        flow->object_kind == OBJECT_HEAP ? (uint8_t)OBJECT_HEAP_UNTRACKED : (uint8_t)OBJECT_UNKNOWN;
    reference.base = 0;
    return reference;
}

void communication_view_label_objects(struct model *model, struct communication_view *view)
{
    struct object_reference *references;
    struct flow_order order;
    uint32_t *labels;
    uint64_t *offsets;

    if (view->to_object != NULL)
        return;
    order = order_by_line(view);
    references = allocate_zeroed(2 * view->count, sizeof(*references));
    labels = allocate_zeroed(2 * view->count, sizeof(*labels));
    offsets = allocate_zeroed(2 * view->count, sizeof(*offsets));
    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);

        references[i] = reference_of_source(&order, flow);
        references[view->count + i] =
            reference_to(flow, flow->line_address + flow->destination.offset);
    }
    object_labels_find(model, references, 2 * view->count, &view->objects, labels, offsets);
    for (size_t i = 0; i < view->count; i++)
        if (communication_flow(view->communication, i)->line_address == 0)
            offsets[i] = offsets[view->count + i] = OFFSET_UNKNOWN;
    view->from_object = flow_labels(view);
    view->to_object = flow_labels(view);
    memcpy(view->from_object, labels, view->count * sizeof(*labels));
    memcpy(view->to_object, labels + view->count, view->count * sizeof(*labels));
    view->from_offset = allocate_zeroed(view->count, sizeof(*offsets));
    view->to_offset = allocate_zeroed(view->count, sizeof(*offsets));
    memcpy(view->from_offset, offsets, view->count * sizeof(*offsets));
    memcpy(view->to_offset, offsets + view->count, view->count * sizeof(*offsets));
    free(offsets);
    free(order.numbers);
    free(labels);
    free(references);
}
