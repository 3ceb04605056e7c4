/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/code_time.h"

#include <stdlib.h>

#include "report/findings/burst_time.h"

struct line_key {
    const char *function, *file;
    uint64_t line;
};

static struct line_key key_of(const struct code_line *line)
{
    return (struct line_key){line->function, line->file, line->line};
}

struct estimate *code_time_of_lines(struct model *model)
{
    struct intern_table *keys;
    moment_list moments = {0};
    struct estimate *shares;
    uint32_t *labels;

    if (model->exact || model->region != NULL)
        return NULL;
    model_label_lines(model);
    keys = intern_table_create();
    for (size_t i = 0; i < model->lines.count; i++) {
        struct line_key key = key_of(&model->lines.items[i]);

        intern_table_insert(keys, &key, sizeof(key));
    }
    burst_time_moments(model, &moments);
    labels = allocate_zeroed(moments.count, sizeof(*labels));
    for (size_t i = 0; i < moments.count; i++) {
        const struct code_line *line = &moments.items[i].line;
        struct line_key key = key_of(line);

        labels[i] =
            line->function != NULL ? intern_table_find(keys, &key, sizeof(key)) : GROUP_NONE;
    }
    shares = burst_time_of_moments(&moments, labels, model->lines.count);
    free(labels);
    free(moments.items);
    intern_table_free(keys);
    return shares;
}
