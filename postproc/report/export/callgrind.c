/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Callgrind's format (manual of valgrind, "Callgrind Format Specification"): for each function the
 * costs of its lines, and for each of its calls what was spent below it. A call's cost counts once
 * in a stack that has it several times, so that recursion is not counted twice.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/export/export.h"

enum { EVENTS = EXPORT_EVENTS_MAX };

/* Costs of a line of a function, or of what it calls from there. */
struct cost {
    uint32_t caller, callee; /* functions; callee GROUP_NONE: the line's own */
    uint32_t line, callee_line;
    double values[EVENTS];
};

struct call_graph {
    const struct export_stacks *stacks;
    struct intern_table *functions, *keys, *texts;
    ARRAY(const struct code_line *) lines; /* one of each function's */
    ARRAY(struct cost) costs;              /* by their keys */
    bool *written;                         /* of each text: its number was given its name */
};

/* A function in a file: what is included from another one counts there. */
static uint32_t function_of(struct call_graph *graph, const struct code_line *line)
{
    const char *key[3] = {line->function, line->file, line->file == NULL ? line->module : NULL};
    uint32_t number = intern_table_insert(graph->functions, key, sizeof(key));

    if (number == graph->lines.count)
        ARRAY_PUSH(&graph->lines, line);
    return number;
}

/* Number of the cost; *fresh: it is new. */
static uint32_t cost_of(struct call_graph *graph, const struct cost *wanted)
{
    uint32_t key[3] = {wanted->caller, wanted->callee, wanted->line};
    uint32_t number = intern_table_insert(graph->keys, key, sizeof(key));

    if (number == graph->costs.count)
        ARRAY_PUSH(&graph->costs, *wanted);
    return number;
}

static void add_values(struct call_graph *graph, uint32_t number, const struct export_stack *stack)
{
    for (size_t e = 0; e < graph->stacks->event_count; e++)
        graph->costs.items[number].values[e] += stack->values[e];
}

/* seen: numbers of the calls of this stack so far. */
static bool is_new(const uint32_t *seen, size_t count, uint32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (seen[i] == number)
            return false;
    return true;
}

static void add_stack(struct call_graph *graph, const struct export_stack *stack)
{
    uint32_t *seen = allocate_zeroed(stack->count, sizeof(*seen));
    uint32_t callee = function_of(graph, &stack->frames[0]);
    struct cost own = {.caller = callee, .callee = GROUP_NONE, .line = stack->frames[0].line};
    size_t count = 0;

    add_values(graph, cost_of(graph, &own), stack);
    for (size_t i = 1; i < stack->count; i++) {
        struct cost call = {.caller = function_of(graph, &stack->frames[i]),
                            .callee = callee,
                            .line = stack->frames[i].line,
                            .callee_line = stack->frames[i - 1].line};
        uint32_t number = cost_of(graph, &call);

        if (is_new(seen, count, number)) {
            seen[count++] = number;
            add_values(graph, number, stack);
        }
        callee = call.caller;
    }
    free(seen);
}

/* What is in a profile must not end the line that it stands in. */
static void put_text(const char *text, FILE *stream)
{
    for (; *text != '\0'; text++)
        fputc((unsigned char)*text < ' ' ? '?' : *text, stream);
}

/* "(7) name" the first time, "(7)" after that: a name may itself begin with a parenthesis. */
static void put_name(struct call_graph *graph, const char *tag, const char *name, FILE *stream)
{
    uint32_t number = intern_table_find(graph->texts, name, strlen(name));

    fprintf(stream, "%s=(%" PRIu32 ")", tag, number + 1);
    if (!graph->written[number]) {
        graph->written[number] = true;
        fputc(' ', stream);
        put_text(name, stream);
    }
    fputc('\n', stream);
}

static const char *file_of(const struct code_line *line)
{
    return line->file != NULL ? line->file : "???";
}

static void put_costs(const struct call_graph *graph, uint32_t line, const double *values,
                      FILE *stream)
{
    fprintf(stream, "%" PRIu32, line);
    for (size_t e = 0; e < graph->stacks->event_count; e++)
        fprintf(stream, " %lld", export_count(values[e]));
    fputc('\n', stream);
}

static void put_cost(struct call_graph *graph, const struct cost *cost, FILE *stream)
{
    if (cost->callee != GROUP_NONE) {
        const struct code_line *callee = graph->lines.items[cost->callee];

        put_name(graph, "cfi", file_of(callee), stream);
        put_name(graph, "cfn", callee->function, stream);
        fprintf(stream, "calls=1 %" PRIu32 "\n", cost->callee_line);
    }
    put_costs(graph, cost->line, cost->values, stream);
}

static int compare_costs(const void *left, const void *right)
{
    const struct cost *a = left, *b = right;

    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    /* A line's own first: GROUP_NONE + 1 is 0. */
    if (a->callee != b->callee)
        return a->callee + 1 < b->callee + 1 ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

static void put_header(const struct export_stacks *stacks, FILE *stream)
{
    fprintf(stream, "# callgrind format\nversion: 1\ncreator: reuse-report\ncmd: ");
    put_text(profile_run_text(stacks->model->profiles[0], "command", "unknown"), stream);
    fputc('\n', stream);
    fprintf(stream, "desc: Basis: %s\n", export_basis(stacks->model));
    fprintf(stream, "desc: Unit: %s; calls are not counted, each is given as 1\n", export_unit);
    fprintf(stream, "positions: line\n");
    for (size_t e = 0; e < stacks->event_count; e++)
        fprintf(stream, "event: %s : %s\n", stacks->events[e].name, stacks->events[e].description);
    fprintf(stream, "events:");
    for (size_t e = 0; e < stacks->event_count; e++)
        fprintf(stream, " %s", stacks->events[e].name);
    fputc('\n', stream);
}

/* The sum of the lines as they are written, rounded each. */
static void put_totals(const struct call_graph *graph, FILE *stream)
{
    fprintf(stream, "totals:");
    for (size_t e = 0; e < graph->stacks->event_count; e++) {
        long long total = 0;

        for (size_t i = 0; i < graph->costs.count; i++)
            if (graph->costs.items[i].callee == GROUP_NONE)
                total += export_count(graph->costs.items[i].values[e]);
        fprintf(stream, " %lld", total);
    }
    fputc('\n', stream);
}

static void put_functions(struct call_graph *graph, FILE *stream)
{
    uint32_t current = GROUP_NONE;

    for (size_t i = 0; i < graph->lines.count; i++) {
        const struct code_line *line = graph->lines.items[i];

        intern_table_insert(graph->texts, line->function, strlen(line->function));
        intern_table_insert(graph->texts, file_of(line), strlen(file_of(line)));
    }
    graph->written = allocate_zeroed(intern_table_count(graph->texts), sizeof(*graph->written));
    if (graph->costs.count > 0)
        qsort(graph->costs.items, graph->costs.count, sizeof(*graph->costs.items), compare_costs);
    for (size_t i = 0; i < graph->costs.count; i++) {
        const struct cost *cost = &graph->costs.items[i];

        if (cost->caller != current) {
            current = cost->caller;
            fputc('\n', stream);
            put_name(graph, "fl", file_of(graph->lines.items[current]), stream);
            put_name(graph, "fn", graph->lines.items[current]->function, stream);
        }
        put_cost(graph, cost, stream);
    }
}

void export_callgrind(const struct export_stacks *stacks, FILE *stream)
{
    struct call_graph graph = {.stacks = stacks,
                               .functions = intern_table_create(),
                               .keys = intern_table_create(),
                               .texts = intern_table_create()};

    for (size_t i = 0; i < stacks->stacks.count; i++)
        add_stack(&graph, &stacks->stacks.items[i]);
    put_header(stacks, stream);
    put_functions(&graph, stream);
    fputc('\n', stream);
    put_totals(&graph, stream);
    free(graph.written);
    free(graph.costs.items);
    free(graph.lines.items);
    intern_table_free(graph.texts);
    intern_table_free(graph.keys);
    intern_table_free(graph.functions);
}
