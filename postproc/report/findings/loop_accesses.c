/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/loop_accesses.h"

#include <stdlib.h>

#include "support/intern_table.h"
#include "support/memory.h"

struct instruction_use {
    size_t all, with_group; /* accesses; those in bursts that the group is seen in */
};

struct loop_search {
    const struct model *model;
    struct subset group;
    uint32_t object;
    struct intern_table *functions, *bursts; /* of the group */
    struct intern_table *instructions;
    ARRAY(struct instruction_use) uses; /* by number of instruction */
};

static const char *function_of(const struct model *model, uint32_t observation)
{
    uint32_t line = model->by_line.labels[observation];

    return line != GROUP_NONE ? model->lines.items[line].function : NULL;
}

static const struct analysed_probe *probe_of(const struct loop_search *search, uint32_t observation)
{
    return analysis_probe(search->model->analysis, observation, NULL);
}

static bool is_with_group(const struct loop_search *search, const struct analysed_probe *probe)
{
    return intern_table_find(search->bursts, &probe->burst, sizeof(probe->burst)) !=
           INTERN_TABLE_NONE;
}

/* Strings are shared, so their addresses identify functions. */
static bool is_of_function(const struct loop_search *search, uint32_t observation)
{
    const char *function = function_of(search->model, observation);

    return search->model->by_object.labels[observation] == search->object &&
           intern_table_find(search->functions, &function, sizeof(function)) != INTERN_TABLE_NONE;
}

static void note_group(struct loop_search *search)
{
    for (size_t k = 0; k < search->group.member_count; k++) {
        uint32_t member = search->group.members[k];
        const char *function = function_of(search->model, member);
        uint32_t burst = probe_of(search, member)->burst;

        intern_table_insert(search->functions, &function, sizeof(function));
        intern_table_insert(search->bursts, &burst, sizeof(burst));
    }
}

static void note_instructions(struct loop_search *search)
{
    for (uint32_t i = 0; i < search->model->observations; i++) {
        const struct analysed_probe *probe;
        uint32_t number;

        if (!is_of_function(search, i))
            continue;
        probe = probe_of(search, i);
        number = intern_table_insert(search->instructions, &probe->ip, sizeof(probe->ip));
        if (number == search->uses.count)
            ARRAY_PUSH(&search->uses, ((struct instruction_use){.all = 0}));
        search->uses.items[number].all++;
        search->uses.items[number].with_group += is_with_group(search, probe);
    }
}

/* A burst may begin in one loop and end in another: an instruction of the group's loop is in most
 * of the bursts that see it seen together with the group. */
static bool is_in_loop(const struct loop_search *search, uint32_t observation)
{
    const struct analysed_probe *probe;
    const struct instruction_use *use;

    if (!is_of_function(search, observation))
        return false;
    probe = probe_of(search, observation);
    use =
        &search->uses.items[intern_table_find(search->instructions, &probe->ip, sizeof(probe->ip))];
    return is_with_group(search, probe) && 2 * use->with_group >= use->all;
}

struct subset loop_accesses_of(const struct model *model, struct subset group, uint32_t **members)
{
    struct loop_search search = {.model = model,
                                 .group = group,
                                 .functions = intern_table_create(),
                                 .bursts = intern_table_create(),
                                 .instructions = intern_table_create()};
    struct subset loop = group;

    loop.members = *members = allocate(model->observations + 1, sizeof(**members));
    loop.member_count = 0;
    if (group.member_count > 0) {
        search.object = model->by_object.labels[group.members[0]];
        note_group(&search);
        note_instructions(&search);
        for (uint32_t i = 0; i < model->observations; i++)
            if (is_in_loop(&search, i))
                (*members)[loop.member_count++] = i;
    }
    free(search.uses.items);
    intern_table_free(search.instructions);
    intern_table_free(search.bursts);
    intern_table_free(search.functions);
    return loop;
}
