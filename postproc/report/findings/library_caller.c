/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/library_caller.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/resolver.h"
#include "support/intern_table.h"
#include "symbols/library_source.h"

bool is_system_library(struct model *model, const char *module)
{
    const struct symbol_module *known;

    if (module == NULL || strstr(module, ".so") == NULL)
        return false;
    known = symbols_module_named(resolver_symbols(model->resolver), module);
    return known != NULL && is_system_file(symbol_module_path(known));
}

size_t innermost_own_frame(struct model *model, const struct calling_context *context)
{
    size_t own = 0;

    while (own < context->count && (is_system_library(model, context->frames[own].module) ||
                                    is_library_source(context->frames[own].file)))
        own++;
    return own;
}

/* Accesses by the context that they are made in, and callers by what their contexts have. */
struct callers {
    struct intern_table *contexts, *keys;
    ARRAY(uint32_t) caller; /* by number in contexts; GROUP_NONE: none */
    ARRAY(struct code_line) lines;
    ARRAY(double) accesses; /* by number of the line */
};

static uint32_t caller_in_context(struct callers *callers, struct model *model, size_t profile,
                                  uint32_t context_id)
{
    struct calling_context context = model_resolve_context(model, profile, context_id, 0, 0);
    size_t own = innermost_own_frame(model, &context);
    uint32_t number = GROUP_NONE;

    if (own < context.count) {
        const struct code_line *line = &context.frames[own];
        struct {
            const char *function, *file;
            uint64_t line;
        } key = {line->function, line->file, line->line};

        number = intern_table_insert(callers->keys, &key, sizeof(key));
        if (number == callers->lines.count) {
            ARRAY_PUSH(&callers->lines, *line);
            ARRAY_PUSH(&callers->accesses, 0);
        }
    }
    free(context.frames);
    return number;
}

static void add_access(struct callers *callers, struct model *model, size_t observation)
{
    size_t profile;
    const struct analysed_probe *probe = analysis_probe(model->analysis, observation, &profile);
    uint64_t key[2] = {profile, probe->context_id};
    uint32_t number, caller;

    if (probe->context_id == 0)
        return;
    number = intern_table_insert(callers->contexts, key, sizeof(key));
    if (number == callers->caller.count)
        ARRAY_PUSH(&callers->caller, caller_in_context(callers, model, profile, probe->context_id));
    caller = callers->caller.items[number];
    if (caller != GROUP_NONE)
        callers->accesses.items[caller] +=
            analysis_probe_object_weight(model->analysis, observation);
}

struct code_line library_caller_of(struct model *model, struct subset accesses)
{
    struct callers callers = {.contexts = intern_table_create(), .keys = intern_table_create()};
    struct code_line most = {.function = NULL};
    double largest = 0;
    uint32_t line =
        accesses.member_count > 0 ? model->by_line.labels[accesses.members[0]] : GROUP_NONE;

    if (line != GROUP_NONE && is_system_library(model, model->lines.items[line].module))
        for (size_t k = 0; k < accesses.member_count; k++)
            add_access(&callers, model, accesses.members[k]);
    for (size_t i = 0; i < callers.lines.count; i++)
        if (callers.accesses.items[i] > largest) {
            largest = callers.accesses.items[i];
            most = callers.lines.items[i];
        }
    free(callers.caller.items);
    free(callers.lines.items);
    free(callers.accesses.items);
    intern_table_free(callers.keys);
    intern_table_free(callers.contexts);
    return most;
}
