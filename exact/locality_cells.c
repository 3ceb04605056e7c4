/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cell counts an access: that of its instruction, the object and the region that it is in. */
#include "locality_internal.h"

#include <stdlib.h>
#include <string.h>

#include "guest_memory.h"
#include "instructions.h"
#include "objects.h"

enum {
    ABOVE_FIRST_PUSH = 128 << 10, /* bytes of a stack: arguments, environment, thread data */
};

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

struct exact_cell *locality_find_cell(struct locality *locality, uint32_t instruction,
                                      uint64_t address, struct exact_cell *before)
{
    struct object_range range;
    struct exact_cell *other = before != NULL ? before->other : NULL;
    if (before != NULL && locality_fits_briefly(locality, before, address))
        return before;
    if (other != NULL && (locality_fits(locality, other, address) ||
                          locality_fits_briefly(locality, other, address))) {
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

void locality_forget_ranges(struct locality *locality)
{
    for (uint32_t i = 0; i < locality->counts.cell_count; i++)
        locality->counts.cells[i]->size = 0;
}
