/* SPDX-License-Identifier: BSD-3-Clause */
/* See stacks.h. */
#include "perfdata/stacks.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/unwinder.h"
#include "pmu/bytes.h"

enum { FRAMES_MAX = 127 }; /* what the kernel keeps by default (kernel.perf_event_max_stack) */

/* The frames in user space of a chain that the kernel walked: between marks, which are no
 * addresses. Callers are return addresses, of the instruction after the call. */
static size_t frames_of_chain(const struct recorded_stack *stack, uint64_t *addresses)
{
    size_t count = 0;
    bool user = true;

    for (uint64_t i = 0; i < stack->chain_count && count < FRAMES_MAX; i++) {
        uint64_t word = load64(stack->chain + 8 * i);

        if (word >= (uint64_t)PERF_CONTEXT_MAX) {
            user = word == (uint64_t)PERF_CONTEXT_USER;
        } else if (user && word != 0) {
            addresses[count] = count > 0 ? word - 1 : word;
            count++;
        }
    }
    return count;
}

static uint32_t intern_places(struct stacks *stacks, struct intern_table *keys,
                              const struct stack_context *context)
{
    uint64_t *key = allocate_zeroed(context->count, 4 * sizeof *key);
    uint32_t number;

    for (size_t i = 0; i < context->count; i++) {
        const struct code_place *place = &context->places[i];

        key[4 * i] = (uintptr_t)place->function;
        key[4 * i + 1] = (uintptr_t)place->file;
        key[4 * i + 2] = (uintptr_t)place->module;
        key[4 * i + 3] = place->line;
    }
    number = intern_table_insert(keys, key, context->count * 4 * sizeof *key);
    free(key);
    if (number == stacks->contexts.count)
        ARRAY_PUSH(&stacks->contexts, *context);
    else
        free(context->places);
    return number;
}

static struct stack_context places_of(struct loaded_files *files,
                                      const struct recorded_sample *sample,
                                      const uint64_t *addresses, size_t count)
{
    ARRAY(struct code_place) all = {0};

    for (size_t i = 0; i < count; i++) {
        size_t found;
        const struct code_place *places =
            loaded_code(files, sample->pid, addresses[i], sample->time, &found);

        for (size_t k = 0; k < found; k++)
            ARRAY_PUSH(&all, places[k]);
    }
    return (struct stack_context){all.items, all.count};
}

struct stacks *stacks_create(const struct recording *recording, struct loaded_files *files)
{
    struct stacks *stacks = allocate_zeroed(1, sizeof *stacks);
    struct intern_table *keys = intern_table_create();
    struct unwinder *unwinder = unwinder_create(recording, files);
    bool known = unwinder_is_built_in() &&
                 (recording->machine[0] == '\0' || unwinder_knows(recording->machine));

    stacks->context = allocate_zeroed(recording->samples.count, sizeof stacks->context[0]);
    for (size_t i = 0; i < recording->samples.count; i++) {
        const struct recorded_sample *sample = &recording->samples.items[i];
        uint64_t addresses[FRAMES_MAX];
        size_t count = 0;

        if (sample->stack.registers && known)
            count = unwinder_frames(unwinder, sample, addresses, FRAMES_MAX);
        else if (sample->stack.registers)
            stacks->foreign = true;
        if (count == 0)
            count = frames_of_chain(&sample->stack, addresses);
        if (count > 0) {
            struct stack_context context = places_of(files, sample, addresses, count);

            stacks->context[i] = intern_places(stacks, keys, &context);
        } else {
            stacks->context[i] = UINT32_MAX;
            stacks->without++;
        }
    }
    unwinder_free(unwinder);
    intern_table_free(keys);
    return stacks;
}

void stacks_free(struct stacks *stacks)
{
    if (!stacks)
        return;
    for (size_t i = 0; i < stacks->contexts.count; i++)
        free(stacks->contexts.items[i].places);
    free(stacks->contexts.items);
    free(stacks->context);
    free(stacks);
}
