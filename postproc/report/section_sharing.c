/* SPDX-License-Identifier: BSD-3-Clause */
/* --sharing: data that moves between threads, on which objects and lines, and what false sharing
 * costs. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/communication_view.h"
#include "report/false_sharing.h"
#include "report/next_uses.h"
#include "report/numbers.h"
#include "report/parting.h"
#include "report/section_support.h"
#include "report/sections.h"

/* Line sizes that machines of today have; advice for one can fail on another. */
static const uint32_t usual_line_sizes[] = {64, 128, 256};
enum { USUAL_LINE_SIZES = sizeof(usual_line_sizes) / sizeof(*usual_line_sizes) };

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
    LINE_OBJECT,
    LINE_ALL,
    LINE_TRUE,
    LINE_FALSE,
    LINE_RAW,
    LINE_WAR,
    LINE_WAW
};

static const struct column finding_columns[] = {
    {.key = "first", .heading = "what collides", .flexible = true},
    {.key = "second", .heading = "with", .flexible = true},
    {.key = "object"},
    {.key = "collision"},
    {.key = "first_thread"},
    {.key = "second_thread"},
    {.key = "threads", .heading = "threads"},
    {.key = "lines", .heading = "lines", .optional = true},
    {.key = "transfers", .heading = "false\ntransfers", .interval = INTERVAL_SUFFIXED},
    {.key = "worth_parting"},
    {.key = "change"},
    {.key = "type"},
    {.key = "type_size"},
    {.key = "line_sizes"},
};

enum {
    FIRST,
    SECOND,
    FINDING_OBJECT,
    COLLISION,
    FIRST_THREAD,
    SECOND_THREAD,
    THREADS,
    LINES,
    TRANSFERS,
    WORTH,
    CHANGE,
    TYPE,
    TYPE_SIZE,
    SIZES
};

static const struct column size_columns[] = {
    {.key = "line_size"}, {.key = "padding"}, {.key = "new_size"}};

static const struct column line_size_columns[] = {
    {.key = "line_size", .heading = "line size"},
    {.key = "all", .heading = "transfers", .interval = INTERVAL_SUFFIXED},
    {.key = "false", .heading = "false", .interval = INTERVAL_SUFFIXED},
};

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

static uint32_t line_size_of(const struct model *model)
{
    return model->options->line_size != 0 ? model->options->line_size
                                          : analysis_line_size(model->analysis);
}

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

static size_t shown_rows(const struct model *model, size_t count)
{
    bool all = model->options->format != FORMAT_TEXT;

    return all || count < model->options->top ? count : model->options->top;
}

static struct cell count_cell(const struct flow_totals *totals, enum matrix_kind kind)
{
    return cell_estimate(CELL_COUNT, totals->of[kind]);
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

    for (size_t i = 0; i < rows && groups[i].totals.of[MATRIX_ALL].value > 0; i++) {
        const struct data_object *object = &view->objects.items[groups[i].group];
        const struct flow_totals *totals = &groups[i].totals;
        struct row *row = table_row(table);

        row->cells[NAME] = cell_text(document, object->name);
        row->cells[KIND] = cell_text(document, object->kind);
        row->cells[SIZE] =
            object->size > 0 ? cell_value(CELL_BYTES, (double)object->size) : cell_empty();
        row->cells[OBJECT_ALL] = count_cell(totals, MATRIX_ALL);
        row->cells[OBJECT_SHARE] =
            cell_value(CELL_SHARE, all > 0 ? totals->of[MATRIX_ALL].value / all : 0);
        row->cells[OBJECT_TRUE] = count_cell(totals, MATRIX_TRUE);
        row->cells[OBJECT_FALSE] = count_cell(totals, MATRIX_FALSE);
        row->cells[OBJECT_RAW] = cell_value(CELL_COUNT, totals->of[MATRIX_RAW].value);
        row->cells[OBJECT_WAR] = cell_value(CELL_COUNT, totals->of[MATRIX_WAR].value);
        row->cells[OBJECT_WAW] = cell_value(CELL_COUNT, totals->of[MATRIX_WAW].value);
    }
    section_table(section, table);
    free(groups);
    free(labels);
}

/* Pairs of lines: who had the data last, and who comes for it. */
struct line_pair {
    uint32_t from, to, object;
};

static void put_place(struct document *document, struct row *row, size_t cell,
                      const struct code_line *line)
{
    row->cells[cell] = cell_text(document, line->file);
    row->cells[cell + 1] = line->line > 0 ? cell_value(CELL_NUMBER, line->line) : cell_empty();
    row->cells[cell + 2] = cell_text(document, line->function);
}

static const char *const kind_words[MATRIX_KINDS] = {
    [MATRIX_RAW] = "RAW", [MATRIX_WAR] = "WAR", [MATRIX_WAW] = "WAW"};

static void add_line_pair(struct model *model, struct communication_view *view,
                          struct document *document, struct table *table,
                          const struct line_pair *pair, const struct flow_totals *totals)
{
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
    row->cells[FROM_PLACE] = cell_text(document, code_line_text(model, from));
    row->cells[TO_PLACE] = cell_text(document, code_line_text(model, to));
    put_place(document, row, FROM_FILE, from);
    put_place(document, row, TO_FILE, to);
    row->cells[LINE_OBJECT] = cell_text(document, object);
    row->cells[LINE_ALL] = count_cell(totals, MATRIX_ALL);
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
    ARRAY(struct line_pair) pairs = {0};
    struct sorted_group *groups;

    for (size_t i = 0; i < view->count; i++) {
        struct line_pair pair = {view->from_line[i], view->to_line[i], view->to_object[i]};

        labels[i] = GROUP_NONE;
        if (view->place[i] != FLOW_PROGRAM || pair.from == GROUP_NONE || pair.to == GROUP_NONE)
            continue;
        labels[i] = intern_table_insert(keys, &pair, sizeof(pair));
        if (labels[i] == pairs.count)
            ARRAY_PUSH(&pairs, pair);
    }
    groups = sort_groups(view, labels, pairs.count);
    for (size_t i = 0; i < shown_rows(model, pairs.count); i++)
        add_line_pair(model, view, document, table, &pairs.items[groups[i].group],
                      &groups[i].totals);
    section_table(section, table);
    free(groups);
    free(pairs.items);
    intern_table_free(keys);
    free(labels);
}

static const char *collision_name(enum collision collision)
{
    static const char *const names[] = {[COLLISION_MEMBERS] = "members",
                                        [COLLISION_ELEMENTS] = "elements",
                                        [COLLISION_OBJECTS] = "objects",
                                        [COLLISION_BYTES] = "bytes"};

    return names[collision];
}

static struct cell thread_cell(const struct communication_view *view, uint32_t thread)
{
    return thread < view->threads.count
               ? cell_value(CELL_NUMBER, (double)view->threads.items[thread].number)
               : cell_empty();
}

static struct table *size_table(struct document *document, const struct false_sharing *finding)
{
    struct table *table = document_table(document, NULL, NULL, NULL, COLUMNS(size_columns));

    for (size_t i = 0; i < USUAL_LINE_SIZES; i++) {
        struct parting parting = parting_for(finding, usual_line_sizes[i]);
        struct row *row = table_row(table);

        row->cells[0] = cell_value(CELL_NUMBER, usual_line_sizes[i]);
        row->cells[1] = cell_value(CELL_BYTES, (double)parting.padding);
        row->cells[2] =
            parting.new_size > 0 ? cell_value(CELL_BYTES, (double)parting.new_size) : cell_empty();
    }
    return table;
}

/* "threads 1 and 2 and 6 others: CHANGE Lines of 128 (256) bytes take 128 (256) bytes." */
static void add_change(struct document *document, struct row *row,
                       const struct communication_view *view, const struct false_sharing *finding,
                       uint32_t line_size)
{
    char *change = parting_text(finding, &view->objects, line_size), *detail;
    struct parting larger = parting_for(finding, 256);
    char *others = finding->threads > 2 ? format_string(" and %zu others", finding->threads - 2)
                                        : copy_string("");
    char *more = larger.new_size > 0 && line_size < 256
                     ? format_string(" On 256-byte lines: %" PRIu64 ".", larger.new_size)
                     : copy_string("");

    detail = format_string("threads %d and %d%s. %s%s", (int)finding->sides[0].thread,
                           (int)finding->sides[1].thread, others, change, more);
    row->cells[CHANGE] = cell_text(document, change);
    row_detail(document, row, detail);
    free(detail);
    free(more);
    free(others);
    free(change);
}

static void add_finding(const struct model *model, struct document *document, struct table *table,
                        const struct communication_view *view, const struct false_sharing *finding)
{
    struct row *row = table_row(table);

    row->cells[FIRST] = cell_text(document, finding->sides[0].path);
    row->cells[SECOND] = cell_text(document, finding->sides[1].path);
    row->cells[FINDING_OBJECT] =
        cell_text(document, view->objects.items[finding->sides[1].object].name);
    row->cells[COLLISION] = cell_text(document, collision_name(finding->collision));
    row->cells[FIRST_THREAD] = thread_cell(view, finding->sides[0].thread);
    row->cells[SECOND_THREAD] = thread_cell(view, finding->sides[1].thread);
    row->cells[THREADS] = cell_value(CELL_NUMBER, (double)finding->threads);
    row->cells[LINES] = cell_value(CELL_NUMBER, (double)finding->lines);
    row->cells[TRANSFERS] = count_cell(&finding->transfers, MATRIX_ALL);
    row->cells[WORTH] = cell_truth(worth_parting(finding, model->accesses.value));
    row->cells[TYPE] = cell_text(document, finding->type);
    row->cells[TYPE_SIZE] =
        finding->type_size > 0 ? cell_value(CELL_BYTES, (double)finding->type_size) : cell_empty();
    row->cells[SIZES] = cell_table(size_table(document, finding));
    add_change(document, row, view, finding, line_size_of(model));
}

/* Why there is nothing to do, or how much there is. */
static char *verdict_of(const struct model *model, const struct communication_view *view,
                        const false_sharing_list *findings)
{
    struct estimate all = {0}, worth = {0};
    size_t count = 0;
    char *number, *limit, *low, *high, *text;

    for (size_t i = 0; i < findings->count; i++) {
        const struct estimate *transfers = &findings->items[i].transfers.of[MATRIX_ALL];

        all.value += transfers->value;
        all.hi += transfers->hi;
        if (!worth_parting(&findings->items[i], model->accesses.value))
            continue;
        count++;
        worth.value += transfers->value;
        worth.lo += transfers->lo;
        worth.hi += transfers->hi;
    }
    (void)view;
    if (count == 0) {
        number = number_count(all.hi);
        limit = number_count(false_sharing_threshold * model->accesses.value);
        text =
            all.hi > 0
                ? format_string("No false sharing worth fixing: at most %s transfers, none of them "
                                "again and again on one line or %s (one in %.0f accesses) on "
                                "one pair of places.",
                                number, limit, 1 / false_sharing_threshold)
                : format_string("No false sharing worth fixing: none was seen.");
        free(limit);
        free(number);
        return text;
    }
    number = number_count(worth.value);
    low = number_count(worth.lo);
    high = number_count(worth.hi);
    if (model->exact)
        text =
            format_string("False sharing: %zu place%s worth parting; that would save %s transfers.",
                          count, count == 1 ? " is" : "s are", number);
    else
        text = format_string("False sharing: %zu place%s worth parting; that would save about %s "
                             "transfers (%s to %s).",
                             count, count == 1 ? " is" : "s are", number, low, high);
    free(high);
    free(low);
    free(number);
    return text;
}

static void add_false_sharing(struct model *model, struct communication_view *view,
                              struct document *document, struct section *section)
{
    false_sharing_list findings = false_sharing_find(model, view);
    char *verdict = verdict_of(model, view, &findings);
    struct table *table = document_table(document, "sharing.false_sharing",
                                         "Advice on false sharing", NULL, COLUMNS(finding_columns));
    size_t rows = 0;

    section_paragraph(document, section, "sharing.verdict", verdict);
    for (size_t i = 0; i < findings.count; i++) {
        bool worth = worth_parting(&findings.items[i], model->accesses.value);

        if (model->options->format == FORMAT_TEXT && (!worth || rows == model->options->top))
            continue;
        add_finding(model, document, table, view, &findings.items[i]);
        rows++;
    }
    if (rows > 0)
        section_table(section, table);
    free(findings.items);
    free(verdict);
}

/* What the same run would move at other line sizes, where the profile can tell. */
static void add_line_sizes(struct model *model, struct document *document, struct section *section)
{
    struct table *table = document_table(document, "sharing.line_sizes", "At other line sizes",
                                         NULL, COLUMNS(line_size_columns));
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
        row->cells[1] = count_cell(&totals, MATRIX_ALL);
        row->cells[2] = count_cell(&totals, MATRIX_FALSE);
        free(labels);
        communication_free(communication);
        known++;
    }
    if (known > 1)
        section_table(section, table);
}

void section_sharing(struct model *model, struct document *document)
{
    struct section *section =
        document_section(document, "sharing", "Data that moves between threads", true);
    struct communication_view *view = communication_view_of(model);

    if (view->communication == NULL) {
        section_paragraph(document, section, NULL, view->message);
        return;
    }
    if (view->threads.count < 2) {
        section_paragraph(document, section, NULL,
                          "The program has one thread: there is nobody to share data with.");
        return;
    }
    communication_view_label_code(model, view);
    communication_view_label_objects(model, view);
    add_false_sharing(model, view, document, section);
    add_objects(model, view, document, section);
    add_lines(model, view, document, section);
    add_line_sizes(model, document, section);
}
