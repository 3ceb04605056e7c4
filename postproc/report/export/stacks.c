/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/export/stacks.h"

#include <math.h>
#include <stdlib.h>

#include "document/numbers.h"

const char export_unit[] = "accesses";

static const char *keep(struct model *model, char *text)
{
    const char *kept = intern_table_string(model->strings, text);

    free(text);
    return kept;
}

const char *export_program(const struct model *model)
{
    return profile_run_text(model->profiles[0], "program", "unknown program");
}

const char *export_basis(const struct model *model)
{
    return model->exact && model->line_rate > 1
               ? "estimated from all accesses to a part of the lines; misses are modelled"
           : model->exact ? "exact: every access was counted; misses are modelled"
                          : "estimated from bursts of accesses; misses are modelled";
}

static void add_event(struct export_stacks *stacks, const char *name, char *description)
{
    struct export_event *event = &stacks->events[stacks->event_count++];

    snprintf(event->name, sizeof(event->name), "%s", name);
    event->description = keep(stacks->model, description);
}

static void list_events(struct export_stacks *stacks)
{
    const struct machine *machine = &stacks->model->machine;

    add_event(stacks, "Acc", copy_string("memory accesses"));
    for (size_t i = 0; i < machine->levels; i++) {
        char *size = number_bytes((double)machine->caches[i].bytes);
        char *name = format_string("L%um", machine->caches[i].level);

        add_event(stacks, name,
                  format_string("accesses that miss in L%u (%s)", machine->caches[i].level, size));
        free(name);
        free(size);
    }
    /* The exact engine counts these for the run, not by line. */
    if (machine->levels > 0 && !stacks->model->exact)
        add_event(stacks, "Inv",
                  copy_string("misses of the last level as another thread stored to the line"));
    stacks->focus = machine->levels > 0 ? 1 + model_focus_level(stacks->model) : 0;
}

static double miss_ratio(const struct model *model, struct subset subset, double bytes)
{
    struct curve_point point;
    double ratio;

    /* Intervals take most of the time, and are asked for where they cost nothing. */
    if (!model->exact) {
        analysis_miss_ratios(model->analysis, subset, &bytes, 1, &ratio);
        return ratio;
    }
    analysis_miss_ratio_curve(model->analysis, subset, &bytes, 1, &point);
    return point.miss_ratio.value;
}

static void measure(const struct model *model, struct subset subset, double accesses,
                    double *values)
{
    size_t levels = model->machine.levels;

    values[0] = accesses;
    for (size_t i = 0; i < levels; i++)
        values[1 + i] =
            accesses * miss_ratio(model, subset, (double)model->machine.caches[i].bytes);
    if (levels > 0 && !model->exact) {
        double bytes = (double)model->machine.caches[levels - 1].bytes;

        values[1 + levels] =
            accesses * analysis_misses(model->analysis, subset, bytes).coherence.value;
    }
}

static void add_group(struct export_stacks *stacks, const struct grouping *grouping, uint32_t group,
                      const struct code_line *frames, size_t count)
{
    struct export_stack stack = {.frames = frames, .count = count};

    if (!(grouping->accesses[group] > 0) || count == 0)
        return;
    measure(stacks->model, grouping_subset(grouping, group), grouping->accesses[group],
            stack.values);
    ARRAY_PUSH(&stacks->stacks, stack);
}

struct export_stacks export_stacks_of(struct model *model)
{
    struct export_stacks stacks = {.model = model};

    list_events(&stacks);
    if (model->exact) {
        model_label_lines(model);
        for (uint32_t g = 0; g < model->by_line.count; g++)
            add_group(&stacks, &model->by_line, g, &model->lines.items[g], 1);
        return stacks;
    }
    model_label_contexts(model);
    for (uint32_t g = 0; g < model->by_context.count; g++)
        add_group(&stacks, &model->by_context, g, model->contexts.items[g].frames,
                  model->contexts.items[g].count);
    return stacks;
}

void export_stacks_free(struct export_stacks *stacks)
{
    free(stacks->stacks.items);
}

long long export_count(double value)
{
    return isfinite(value) && value > 0 ? llround(value) : 0;
}
