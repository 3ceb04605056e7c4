/* SPDX-License-Identifier: BSD-3-Clause */
/* Between which lines of source each flow goes. */
#include <stdlib.h>
#include <string.h>

#include "report/model/communication_view_internal.h"

/*
 * Transfers do not say when they were made: where two modules had the address one after the other,
 * either could be meant.
 */
bool code_is_ambiguous(const struct profile *profile, uint64_t ip)
{
    const struct record_module *found = NULL;

    for (size_t i = 0; i < profile->modules.count; i++) {
        const struct record_module *module = profile->modules.items[i];

        if (ip < module->start || ip >= module->end)
            continue;
        if (found != NULL && strcmp(found->path, module->path) != 0)
            return true;
        found = module;
    }
    return false;
}

struct line_labelling {
    struct model *model;
    struct communication_view *view;
    struct intern_table *seen, *keys;
    ARRAY(uint32_t) numbers; /* by what was seen */
};

static uint32_t line_of(struct line_labelling *labelling, size_t profile,
                        const struct flow_end *end)
{
    struct model *model = labelling->model;
    uint64_t seen[3] = {profile, end->ip, end->context_id};
    struct {
        const char *function, *file, *module;
        uint64_t line;
    } key = {0};
    struct code_line line;
    uint32_t number;

    if (end->ip == 0)
        return GROUP_NONE;
    number = intern_table_insert(labelling->seen, seen, sizeof(seen));
    if (number < labelling->numbers.count)
        return labelling->numbers.items[number];
    if (code_is_ambiguous(model->profiles[profile], end->ip))
        line = (struct code_line){.function = "code of several modules, one after the other"};
    else
        line = model_own_line(model, profile, end->ip, end->context_id, 0);
    key.function = line.function;
    key.file = line.file;
    key.module = line.file == NULL ? line.module : NULL;
    key.line = line.line;
    number = intern_table_insert(labelling->keys, &key, sizeof(key));
    if (number == labelling->view->lines.count)
        ARRAY_PUSH(&labelling->view->lines, line);
    ARRAY_PUSH(&labelling->numbers, number);
    return number;
}

void communication_view_label_code(struct model *model, struct communication_view *view)
{
    struct line_labelling labelling = {.model = model, .view = view};

    if (view->from_line != NULL)
        return;
    labelling.seen = intern_table_create();
    labelling.keys = intern_table_create();
    view->from_line = flow_labels(view);
    view->to_line = flow_labels(view);
    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);

        view->from_line[i] = line_of(&labelling, flow->profile_index, &flow->source);
        view->to_line[i] = line_of(&labelling, flow->profile_index, &flow->destination);
    }
    free(labelling.numbers.items);
    intern_table_free(labelling.keys);
    intern_table_free(labelling.seen);
}
