/* SPDX-License-Identifier: BSD-3-Clause */
/* speedscope's file format: a sampled profile for each event, over common frames. */
#include <jansson.h>

#include "report/export/export.h"
#include "support/utf8.h"

#include <stdlib.h>
#include <string.h>

static json_t *text_json(const char *text)
{
    char *valid = valid_utf8(text);
    json_t *json = json_string(valid);

    free(valid);
    return json;
}

/* Strings are shared, so their addresses identify them. */
struct frame_key {
    const char *function, *file;
    uint64_t line;
};

static json_int_t number_of_frame(struct intern_table *keys, json_t *frames,
                                  const struct code_line *line)
{
    struct frame_key key = {line->function, line->file, line->line};
    uint32_t number = intern_table_insert(keys, &key, sizeof(key));
    json_t *frame;

    if (number < json_array_size(frames))
        return number;
    frame = json_object();
    json_object_set_new(frame, "name", text_json(line->function));
    if (line->file != NULL) {
        json_object_set_new(frame, "file", text_json(line->file));
        json_object_set_new(frame, "line", json_integer(line->line));
    }
    json_array_append_new(frames, frame);
    return number;
}

static json_t *stack_json(struct intern_table *keys, json_t *frames,
                          const struct export_stack *stack)
{
    json_t *list = json_array();

    for (size_t k = stack->count; k-- > 0;)
        json_array_append_new(list, json_integer(number_of_frame(keys, frames, &stack->frames[k])));
    return list;
}

static json_t *event_json(const struct export_stacks *stacks, size_t event,
                          struct intern_table *keys, json_t *frames)
{
    json_t *profile = json_object(), *samples = json_array(), *weights = json_array();
    const struct export_event *what = &stacks->events[event];
    char *name = format_string("%s: %s; unit: %s", what->name, what->description, export_unit);
    long long total = 0;

    for (size_t i = 0; i < stacks->stacks.count; i++) {
        const struct export_stack *stack = &stacks->stacks.items[i];
        long long count = export_count(stack->values[event]);

        if (count == 0)
            continue;
        total += count;
        json_array_append_new(samples, stack_json(keys, frames, stack));
        json_array_append_new(weights, json_integer(count));
    }
    json_object_set_new(profile, "type", json_string("sampled"));
    json_object_set_new(profile, "name", text_json(name));
    json_object_set_new(profile, "unit", json_string("none"));
    json_object_set_new(profile, "startValue", json_integer(0));
    json_object_set_new(profile, "endValue", json_integer(total));
    json_object_set_new(profile, "samples", samples);
    json_object_set_new(profile, "weights", weights);
    free(name);
    return profile;
}

void export_speedscope(const struct export_stacks *stacks, FILE *stream)
{
    json_t *root = json_object(), *shared = json_object(), *frames = json_array();
    json_t *profiles = json_array();
    struct intern_table *keys = intern_table_create();
    char *name =
        format_string("%s (%s)", export_program(stacks->model), export_basis(stacks->model));

    for (size_t e = 0; e < stacks->event_count; e++)
        json_array_append_new(profiles, event_json(stacks, e, keys, frames));
    json_object_set_new(root, "$schema",
                        json_string("https://www.speedscope.app/file-format-schema.json"));
    json_object_set_new(shared, "frames", frames);
    json_object_set_new(root, "shared", shared);
    json_object_set_new(root, "profiles", profiles);
    json_object_set_new(root, "name", text_json(name));
    json_object_set_new(root, "activeProfileIndex", json_integer((json_int_t)stacks->focus));
    json_object_set_new(root, "exporter", json_string("reuse-report"));
    json_dumpf(root, stream, JSON_COMPACT);
    fputc('\n', stream);
    free(name);
    intern_table_free(keys);
    json_decref(root);
}
