/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/communication_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/communication_view_internal.h"
#include "report/model/runtime_code.h"

uint32_t *flow_labels(const struct communication_view *view)
{
    return allocate_zeroed(view->count, sizeof(uint32_t));
}

/* Of one thread: what comes to it or goes from it. */
static bool is_asked_for(const struct model *model, const struct flow *flow)
{
    uint32_t thread = model->asked.thread_id;

    return thread == 0 || flow->source.thread_id == thread || flow->destination.thread_id == thread;
}

/* Older profiles hold what the profiler's own library stored to its tables within QEMU. */
static bool is_profilers_data(struct model *model, const struct flow *flow)
{
    const struct symbol_module *module;
    uint64_t load_bias;

    if (flow->object_kind != OBJECT_GLOBAL)
        return false;
    module =
        resolver_module(model->resolver, flow->profile_index, flow->object_reference, &load_bias);
    return module != NULL && runtime_code_is_profiler(symbol_module_name(module));
}

static void label_places(struct model *model, struct communication_view *view)
{
    struct runtime_code *code = runtime_code_create(model);

    view->place = flow_labels(view);
    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);
        bool in_runtime =
            model->options->runtime != RUNTIME_INCLUDE && runtime_code_made(code, flow);

        if (!is_asked_for(model, flow) || is_profilers_data(model, flow) ||
            (in_runtime && model->options->runtime == RUNTIME_DROP))
            view->place[i] = GROUP_NONE;
        else
            view->place[i] = in_runtime ? FLOW_RUNTIME : FLOW_PROGRAM;
    }
    runtime_code_free(code);
}

/*
 * For the lines that the report is about. Counted transfers are of the run's lines alone: a machine
 * that has others gets these, with a remark; a user who asks for others is told that there are
 * none.
 */
static void create_communication(struct model *model, struct communication_view *view)
{
    uint32_t size = analysis_line_size(model->analysis);
    const struct analysis *analysis = model->analysis;

    if (model->asked.thread_id != 0 && !model->exact) {
        /* Samples of one thread do not tell who else was there. */
        struct analysis_options options = model->asked;

        options.thread_id = 0;
        analysis = view->whole = analysis_create(model->profiles, model->profile_count, &options,
                                                 view->message, sizeof(view->message));
        if (analysis == NULL)
            return;
    }
    view->communication =
        communication_create(analysis, size, view->message, sizeof(view->message));
    if (view->communication != NULL || model->options->line_size != 0)
        return;
    view->communication = communication_create(analysis, 0, view->message, sizeof(view->message));
    if (view->communication == NULL)
        return;
    char *text = format_string("Transfers are of the run's lines, as they were counted: for lines "
                               "of %" PRIu32 " bytes record with --line-size %" PRIu32,
                               size, size);
    ARRAY_PUSH(&model->remarks, intern_table_string(model->strings, text));
    free(text);
}

struct communication_view *communication_view_of(struct model *model)
{
    struct communication_view *view = model->communication;

    if (view != NULL)
        return view;
    model->communication = view = allocate_zeroed(1, sizeof(*view));
    create_communication(model, view);
    if (view->communication == NULL)
        return view;
    view->count = communication_flow_count(view->communication);
    communication_view_label_parties(model, view);
    label_places(model, view);
    return view;
}

void communication_view_free(struct communication_view *view)
{
    if (view == NULL)
        return;
    communication_free(view->communication);
    analysis_free(view->whole);
    free(view->threads.items);
    free(view->cores.items);
    free(view->from_thread);
    free(view->to_thread);
    free(view->processes.items);
    free(view->ranks.items);
    free(view->from_process);
    free(view->to_process);
    free(view->from_rank);
    free(view->to_rank);
    free(view->from_core);
    free(view->to_core);
    free(view->place);
    free(view->from_line);
    free(view->to_line);
    free(view->counts_references);
    free(view->lines.items);
    free(view->from_object);
    free(view->to_object);
    free(view->from_offset);
    free(view->to_offset);
    free(view->objects.items);
    free(view);
}
