/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/line_pairs.h"

#include <stdlib.h>

#include "document/numbers.h"
#include "report/model/last_uses.h"
#include "report/sections/section_support.h"
#include "report/sharing/flow_groups.h"
#include "report/sharing/sharing_advice.h"

static const struct column columns[] = {
    {.heading = "last used by", .flexible = true},
    {.heading = "then by", .flexible = true},
    {.key = "from.file"},
    {.key = "from.line"},
    {.key = "from.function"},
    {.key = "to.file"},
    {.key = "to.line"},
    {.key = "to.function"},
    {.key = "from.context"},
    {.key = "to.context"},
    {.key = "object"},
    {.key = "all", .heading = "transfers", .interval = INTERVAL_SUFFIXED},
    {.key = "true"},
    {.key = "false", .heading = "false"},
    {.key = "raw"},
    {.key = "war"},
    {.key = "waw"},
};

enum {
    FROM_PLACE,
    TO_PLACE,
    FROM_FILE,
    FROM_LINE,
    FROM_FUNCTION,
    TO_FILE,
    TO_LINE,
    TO_FUNCTION,
    FROM_CONTEXT,
    TO_CONTEXT,
    LINE_OBJECT,
    LINE_ALL,
    LINE_TRUE,
    LINE_FALSE,
    LINE_RAW,
    LINE_WAR,
    LINE_WAW
};

/* Numbers in the view. */
struct line_pair {
    uint32_t from, to, object;
};

/* The flow with most transfers of a pair: its contexts are the ones that are shown. */
struct line_example {
    struct line_pair pair;
    const struct flow *flow;
};

static void put_place(struct document *document, struct row *row, size_t cell,
                      const struct code_line *line)
{
    row->cells[cell] = cell_text(document, line->file);
    row->cells[cell + 1] = line->line > 0 ? cell_value(CELL_NUMBER, line->line) : cell_empty();
    row->cells[cell + 2] = cell_text(document, line->function);
}

/* Where the context of an access is known, it is told. */
static void put_context(struct model *model, struct document *document, struct row *row,
                        size_t cell, char **detail, const char *before, const struct flow *flow,
                        const struct flow_end *end)
{
    struct calling_context context;
    char *text, *longer;

    if (end->context_id == 0)
        return;
    context = model_resolve_context(model, flow->profile_index, end->context_id, end->ip, 0);
    text = context_text(model, &context);
    longer = format_string("%s%s%s%s.", *detail, cell == FROM_CONTEXT ? "." : "", before, text);
    row->cells[cell] = cell_text(document, text);
    free(*detail);
    *detail = longer;
    free(text);
    free(context.frames);
}

static const char *const kind_words[MATRIX_KINDS] = {
    [MATRIX_RAW] = "RAW", [MATRIX_WAR] = "WAR", [MATRIX_WAW] = "WAW"};

static void add_line_pair(struct model *model, struct communication_view *view,
                          struct document *document, struct table *table,
                          const struct line_example *example, const struct flow_totals *totals)
{
    const struct line_pair *pair = &example->pair;
    const struct code_line *from = &view->lines.items[pair->from];
    const struct code_line *to = &view->lines.items[pair->to];
    const char *object = pair->object != GROUP_NONE ? view->objects.items[pair->object].name : NULL;
    struct row *row = table_row(table);
    char *detail = format_string("%s%s", object != NULL ? "on " : "object unknown",
                                 object != NULL ? object : "");

    for (size_t kind = MATRIX_RAW; kind < MATRIX_KINDS; kind++) {
        char *number = number_count(totals->of[kind].value), *longer;

        if (totals->of[kind].value > 0) {
            longer = format_string("%s, %s %s", detail, kind_words[kind], number);
            free(detail);
            detail = longer;
        }
        free(number);
    }
    put_context(model, document, row, FROM_CONTEXT, &detail, " From ", example->flow,
                &example->flow->source);
    put_context(model, document, row, TO_CONTEXT, &detail, " To ", example->flow,
                &example->flow->destination);
    row->cells[FROM_PLACE] = cell_text(document, code_line_text(model, from));
    row->cells[TO_PLACE] = cell_text(document, code_line_text(model, to));
    put_place(document, row, FROM_FILE, from);
    put_place(document, row, TO_FILE, to);
    row->cells[LINE_OBJECT] = cell_text(document, object);
    row->cells[LINE_ALL] = flow_count_cell(totals, MATRIX_ALL);
    row->cells[LINE_TRUE] = cell_value(CELL_COUNT, totals->of[MATRIX_TRUE].value);
    row->cells[LINE_FALSE] = cell_value(CELL_COUNT, totals->of[MATRIX_FALSE].value);
    row->cells[LINE_RAW] = cell_value(CELL_COUNT, totals->of[MATRIX_RAW].value);
    row->cells[LINE_WAR] = cell_value(CELL_COUNT, totals->of[MATRIX_WAR].value);
    row->cells[LINE_WAW] = cell_value(CELL_COUNT, totals->of[MATRIX_WAW].value);
    row_detail(document, row, detail);
    free(detail);
}

void add_line_pairs(struct model *model, struct communication_view *view, struct document *document,
                    struct section *section)
{
    struct table *table = document_table(document, "sharing.lines", "From line to line", NULL,
                                         columns, sizeof(columns) / sizeof(*columns));
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));
    struct intern_table *keys = intern_table_create();
    ARRAY(struct line_example) pairs = {0};
    struct flow_group *groups;

    for (size_t i = 0; i < view->count; i++) {
        struct line_example example = {
            .pair = {view->from_line[i], view->to_line[i], view->to_object[i]},
            .flow = communication_flow(view->communication, i)};

        labels[i] = GROUP_NONE;
        if (view->place[i] != FLOW_PROGRAM || example.pair.from == GROUP_NONE ||
            example.pair.to == GROUP_NONE)
            continue;
        labels[i] = intern_table_insert(keys, &example.pair, sizeof(example.pair));
        if (labels[i] == pairs.count)
            ARRAY_PUSH(&pairs, example);
        else if (example.flow->transfers > pairs.items[labels[i]].flow->transfers)
            pairs.items[labels[i]].flow = example.flow;
    }
    groups = flow_groups_sorted(view, labels, pairs.count);
    for (size_t i = 0; i < flow_groups_shown(model, pairs.count); i++) {
        if (flow_group_is_negligible(model, groups[i].totals.of[MATRIX_ALL].value,
                                     program_transfers(view)))
            break;
        add_line_pair(model, view, document, table, &pairs.items[groups[i].group],
                      &groups[i].totals);
    }
    section_table(section, table);
    free(groups);
    free(pairs.items);
    intern_table_free(keys);
    free(labels);
}
