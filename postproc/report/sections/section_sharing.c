/* SPDX-License-Identifier: BSD-3-Clause */
/* --sharing: data that moves between threads, on which objects and lines, and what false sharing
 * costs. */
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/model/communication_view.h"
#include "report/model/next_uses.h"
#include "report/placement/cpu_distance.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"
#include "report/sharing/process_lines.h"
#include "report/sharing/sharing_advice.h"
#include "report/sharing/sharing_truth.h"

static const struct column object_columns[] = {
    {.key = "name", .heading = "object", .flexible = true},
    {.key = "kind", .heading = "kind", .optional = true},
    {.key = "size"},
    {.key = "all", .heading = "transfers", .interval = INTERVAL_SUFFIXED},
    {.key = "share", .heading = "of all\n%"},
    {.key = "true"},
    {.key = "false", .heading = "false", .interval = INTERVAL_SUFFIXED},
    {.key = "raw", .heading = "RAW", .optional = true},
    {.key = "war", .heading = "WAR", .optional = true},
    {.key = "waw", .heading = "WAW", .optional = true},
};

enum {
    NAME,
    KIND,
    SIZE,
    OBJECT_ALL,
    OBJECT_SHARE,
    OBJECT_TRUE,
    OBJECT_FALSE,
    OBJECT_RAW,
    OBJECT_WAR,
    OBJECT_WAW
};

static const struct column line_columns[] = {
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

static const struct column line_size_columns[] = {
    {.key = "line_size", .heading = "line size"},
    {.key = "all", .heading = "transfers", .interval = INTERVAL_SUFFIXED},
    {.key = "false", .heading = "false", .interval = INTERVAL_SUFFIXED},
};

static const struct column distance_columns[] = {
    {.key = "distance", .heading = "between the two CPUs"},
    {.key = "all", .heading = "transfers", .interval = INTERVAL_SUFFIXED},
    {.key = "share", .heading = "of all\n%"},
    {.key = "false", .heading = "false", .interval = INTERVAL_SUFFIXED},
};

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

/* Groups with their totals, those with most transfers first. */
struct sorted_group {
    uint32_t group;
    struct flow_totals totals;
};

static int compare_groups(const void *left, const void *right)
{
    const struct sorted_group *a = left, *b = right;
    double x = a->totals.of[MATRIX_ALL].value, y = b->totals.of[MATRIX_ALL].value;

    if (x != y)
        return x < y ? 1 : -1;
    return (a->group > b->group) - (a->group < b->group);
}

/* The caller frees the result; groups without transfers come last. */
static struct sorted_group *sort_groups(const struct communication_view *view,
                                        const uint32_t *labels, size_t count)
{
    struct flow_totals *totals = allocate_zeroed(count, sizeof(*totals));
    struct sorted_group *groups = allocate_zeroed(count, sizeof(*groups));

    flow_totals_of(view->communication, labels, count, totals);
    for (size_t g = 0; g < count; g++)
        groups[g] = (struct sorted_group){(uint32_t)g, totals[g]};
    if (count > 0)
        qsort(groups, count, sizeof(*groups), compare_groups);
    free(totals);
    return groups;
}

/* `wanted` of the program's own flows, none of the others. */
static uint32_t *program_labels(const struct communication_view *view, const uint32_t *wanted)
{
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));

    for (size_t i = 0; i < view->count; i++)
        labels[i] = view->place[i] == FLOW_PROGRAM ? wanted[i] : (uint32_t)GROUP_NONE;
    return labels;
}

static double program_transfers(const struct communication_view *view)
{
    return communication_total(view->communication, view->place, FLOW_PROGRAM).value;
}

/* Added up over all objects, as the rarest ones are. */
static double unknown_transfers(const struct communication_view *view)
{
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));
    double transfers;

    for (size_t i = 0; i < view->count; i++)
        labels[i] = view->place[i] != FLOW_PROGRAM || view->to_object[i] != GROUP_NONE;
    transfers = communication_total(view->communication, labels, 0).value;
    free(labels);
    return transfers;
}

static size_t shown_rows(const struct model *model, size_t count)
{
    bool all = model->options->format != FORMAT_TEXT;

    return all || count < model->options->top ? count : model->options->top;
}

/* In text: of which nobody wants to read. */
static bool is_negligible(const struct model *model, double transfers, double all)
{
    bool brief = model->options->format == FORMAT_TEXT && !model->options->verbose;

    return !(transfers > 0) || (brief && transfers < 0.001 * all);
}

static void add_objects(struct model *model, struct communication_view *view,
                        struct document *document, struct section *section)
{
    struct table *table =
        document_table(document, "sharing.objects", "Objects whose lines move most",
                       basis_text(model, document, ""), COLUMNS(object_columns));
    uint32_t *labels = program_labels(view, view->to_object);
    struct sorted_group *groups = sort_groups(view, labels, view->objects.count);
    double all = program_transfers(view);
    size_t rows = shown_rows(model, view->objects.count);

    for (size_t i = 0; i < rows; i++) {
        if (is_negligible(model, groups[i].totals.of[MATRIX_ALL].value, all))
            break;

        const struct data_object *object = &view->objects.items[groups[i].group];
        const struct flow_totals *totals = &groups[i].totals;
        struct row *row = table_row(table);

        row->cells[NAME] = cell_text(document, object->name);
        row->cells[KIND] = cell_text(document, object->kind);
        row->cells[SIZE] =
            object->size > 0 ? cell_value(CELL_BYTES, (double)object->size) : cell_empty();
        row->cells[OBJECT_ALL] = flow_count_cell(totals, MATRIX_ALL);
        row->cells[OBJECT_SHARE] =
            cell_value(CELL_SHARE, all > 0 ? totals->of[MATRIX_ALL].value / all : 0);
        row->cells[OBJECT_TRUE] = flow_count_cell(totals, MATRIX_TRUE);
        row->cells[OBJECT_FALSE] = flow_count_cell(totals, MATRIX_FALSE);
        row->cells[OBJECT_RAW] = cell_value(CELL_COUNT, totals->of[MATRIX_RAW].value);
        row->cells[OBJECT_WAR] = cell_value(CELL_COUNT, totals->of[MATRIX_WAR].value);
        row->cells[OBJECT_WAW] = cell_value(CELL_COUNT, totals->of[MATRIX_WAW].value);
    }
    if (all > 0 && unknown_transfers(view) > 0.01 * all) {
        char *share = number_percent(unknown_transfers(view) / all);
        char *remark =
            format_string("Of %s %% of the transfers only the threads are known.", share);

        table_remark(document, table, remark);
        free(remark);
        free(share);
    }
    section_table(section, table);
    free(groups);
    free(labels);
}

/* Pairs of lines: who had the data last, and who comes for it. */
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

static void add_lines(struct model *model, struct communication_view *view,
                      struct document *document, struct section *section)
{
    struct table *table =
        document_table(document, "sharing.lines", "From line to line", NULL, COLUMNS(line_columns));
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));
    struct intern_table *keys = intern_table_create();
    ARRAY(struct line_example) pairs = {0};
    struct sorted_group *groups;

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
    groups = sort_groups(view, labels, pairs.count);
    for (size_t i = 0; i < shown_rows(model, pairs.count); i++) {
        if (is_negligible(model, groups[i].totals.of[MATRIX_ALL].value, program_transfers(view)))
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

/* What the same run would move at other line sizes, where the profile can tell. */
static void add_line_sizes(struct model *model, struct document *document, struct section *section)
{
    struct table *table =
        document_table(document, "sharing.line_sizes", "At other line sizes",
                       model->exact ? NULL : "Modelled from samples at all but the recorded size.",
                       COLUMNS(line_size_columns));
    size_t known = 0;

    for (size_t i = 0; i < USUAL_LINE_SIZES; i++) {
        char message[512];
        struct communication *communication =
            communication_create(model->analysis, usual_line_sizes[i], message, sizeof(message));
        struct flow_totals totals;
        uint32_t *labels;
        struct row *row;

        if (communication == NULL)
            continue;
        labels = allocate_zeroed(communication_flow_count(communication), sizeof(*labels));
        flow_totals_of(communication, labels, 1, &totals);
        row = table_row(table);
        row->cells[0] = cell_value(CELL_NUMBER, usual_line_sizes[i]);
        row->cells[1] = flow_count_cell(&totals, MATRIX_ALL);
        row->cells[2] = flow_count_cell(&totals, MATRIX_FALSE);
        free(labels);
        communication_free(communication);
        known++;
    }
    if (known > 1)
        section_table(section, table);
}

static const char *const distance_names[DISTANCE_COUNT] = {
    [DISTANCE_SAME_CPU] = "on one CPU",
    [DISTANCE_CORE] = "within a core",
    [DISTANCE_CACHE] = "within a shared cache",
    [DISTANCE_DOMAIN] = "between caches of a NUMA domain",
    [DISTANCE_MACHINE] = "between NUMA domains",
};

/* The distance of each flow of the program; GROUP_NONE: not known. */
static uint32_t *label_distances(const struct communication_view *view,
                                 const struct cpu_distances *distances, bool by_thread)
{
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));

    for (size_t i = 0; i < view->count; i++) {
        uint32_t from = by_thread ? view->from_thread[i] : view->from_core[i];
        uint32_t to = by_thread ? view->to_thread[i] : view->to_core[i];

        labels[i] = GROUP_NONE;
        if (view->place[i] != FLOW_PROGRAM || from == GROUP_NONE || to == GROUP_NONE)
            continue;
        if (!by_thread) {
            from = view->cores.items[from].id;
            to = view->cores.items[to].id;
        }
        labels[i] = (uint32_t)cpu_distance_of(distances, from, to);
    }
    return labels;
}

static void add_distance_rows(const struct communication_view *view, const uint32_t *labels,
                              struct document *document, struct table *table)
{
    struct flow_totals totals[DISTANCE_COUNT];
    double all = program_transfers(view);

    flow_totals_of(view->communication, labels, DISTANCE_COUNT, totals);
    for (size_t i = 0; i < DISTANCE_COUNT; i++) {
        struct row *row;

        if (!(totals[i].of[MATRIX_ALL].value > 0))
            continue;
        row = table_row(table);
        row->cells[0] = cell_text(document, distance_names[i]);
        row->cells[1] = flow_count_cell(&totals[i], MATRIX_ALL);
        row->cells[2] = cell_value(CELL_SHARE, all > 0 ? totals[i].of[MATRIX_ALL].value / all : 0);
        row->cells[3] = flow_count_cell(&totals[i], MATRIX_FALSE);
    }
}

/* What transfers had to cross, by the CPUs that the two accesses ran on; on a machine that one does
 * not have, by its cores, one to a thread. */
static void add_distances(struct model *model, struct communication_view *view,
                          struct document *document, struct section *section)
{
    const char *machine = model->options->machine;
    bool elsewhere = machine != NULL && strcmp(machine, "host") != 0;
    struct cpu_distances *distances;
    struct table *table;
    char message[512];
    uint32_t *labels;
    char *title;

    if (!elsewhere && view->from_core == NULL)
        return;
    distances = elsewhere ? cpu_distances_of_machine(&model->machine)
                          : cpu_distances_create(profile_run_text(model->profiles[0], "host", NULL),
                                                 message, sizeof(message));
    if (distances == NULL) {
        section_paragraph(document, section, NULL, message);
        return;
    }
    title = elsewhere
                ? format_string("How far lines would move on %s, one thread to a core, in order",
                                model->machine.name)
                : format_string("How far lines moved");
    table = document_table(document, "sharing.distances", document_string(document, title),
                           elsewhere ? "Modelled." : NULL, COLUMNS(distance_columns));
    labels = label_distances(view, distances, elsewhere);
    add_distance_rows(view, labels, document, table);
    section_table(section, table);
    free(title);
    free(labels);
    cpu_distances_free(distances);
}

void section_sharing(struct model *model, struct document *document)
{
    struct section *section =
        document_section(document, "sharing", "Data that moves between threads", true);
    struct communication_view *view = communication_view_of(model);
    const char *note = sharing_line_size_text(model, document);

    if (view->communication == NULL) {
        section_paragraph(document, section, NULL, view->message);
        return;
    }
    if (view->threads.count < 2) {
        section_paragraph(
            document, section, NULL,
            view->count > 0 ? "The process has one thread, and shares memory with others: name the "
                              "files of all of them."
                            : "The program has one thread: there is nobody to share data with.");
        return;
    }
    if (model->options->region != NULL)
        section_paragraph(
            document, section, NULL,
            "Transfers have two ends, in two threads: these are of the whole program, "
            "not of the region.");
    if (note != NULL)
        section_paragraph(document, section, "sharing.model", note);
    communication_view_label_code(model, view);
    communication_view_label_objects(model, view);
    add_sharing_advice(model, view, document, section);
    add_sharing_truth(model, view, document, section);
    add_process_lines(model, view, document, section);
    add_objects(model, view, document, section);
    add_lines(model, view, document, section);
    add_distances(model, view, document, section);
    add_line_sizes(model, document, section);
}
