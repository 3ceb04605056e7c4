/* SPDX-License-Identifier: BSD-3-Clause */
/* Between which lines of source each flow goes. */
#include <stdlib.h>
#include <string.h>

#include "report/model/communication_view_internal.h"
#include "report/model/reference_counts.h"

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

/* What is known of the code of an access. */
struct code_label {
    uint32_t line; /* number; GROUP_NONE: unknown */
    bool counts_references;
};

struct line_labelling {
    struct model *model;
    struct communication_view *view;
    struct intern_table *seen, *keys;
    ARRAY(struct code_label) labels; /* by what was seen */
};

static bool counts_references(struct model *model, size_t profile, const struct flow_end *end)
{
    struct calling_context context =
        model_resolve_context(model, profile, end->context_id, end->ip, 0);
    bool counts = is_reference_count(&context);

    free(context.frames);
    return counts;
}

static struct code_label label_of(struct line_labelling *labelling, size_t profile,
                                  const struct flow_end *end)
{
    struct model *model = labelling->model;
    uint64_t seen[3] = {profile, end->ip, end->context_id};
    struct {
        const char *function, *file, *module;
        uint64_t line;
    } key = {0};
    struct code_label label = {GROUP_NONE, false};
    struct code_line line;
    uint32_t number;

    if (end->ip == 0)
        return label;
    number = intern_table_insert(labelling->seen, seen, sizeof(seen));
    if (number < labelling->labels.count)
        return labelling->labels.items[number];
    if (code_is_ambiguous(model->profiles[profile], end->ip))
        line = (struct code_line){.function = "code of several modules, one after the other"};
    else
        line = model_own_line(model, profile, end->ip, end->context_id, 0);
    key.function = line.function;
    key.file = line.file;
    key.module = line.file == NULL ? line.module : NULL;
    key.line = line.line;
    label.line = intern_table_insert(labelling->keys, &key, sizeof(key));
    label.counts_references = counts_references(model, profile, end);
    if (label.line == labelling->view->lines.count)
        ARRAY_PUSH(&labelling->view->lines, line);
    ARRAY_PUSH(&labelling->labels, label);
    return label;
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
    view->counts_references = allocate_zeroed(view->count, sizeof(*view->counts_references));
    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);
        struct code_label to = label_of(&labelling, flow->profile_index, &flow->destination);

        view->from_line[i] = label_of(&labelling, flow->profile_index, &flow->source).line;
        view->to_line[i] = to.line;
        view->counts_references[i] = to.counts_references;
    }
    free(labelling.labels.items);
    intern_table_free(labelling.keys);
    intern_table_free(labelling.seen);
}
