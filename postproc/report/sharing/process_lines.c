/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/process_lines.h"

#include <inttypes.h>
#include <stdlib.h>

#include "document/numbers.h"
#include "report/model/flow_totals.h"
#include "report/sections/section_support.h"
#include "report/sharing/sharing_advice.h"

static const struct column columns[] = {
    {.key = "line", .heading = "line of shared memory", .flexible = true},
    {.key = "file"},
    {.key = "offset"},
    {.key = "writers"},
    {.key = "readers"},
    {.key = "all", .heading = "transfers", .interval = INTERVAL_SUFFIXED},
    {.key = "true"},
    {.key = "false"},
    {.key = "sharing", .heading = "sharing"},
};

enum { LINE, FILE_NAME, OFFSET, WRITERS, READERS, ALL, TRUE, FALSE, SHARING };

enum { NAMED_MAX = 2 };

/* A line, and which processes do what to it: numbers in the view's processes, ascending. */
struct shared_line {
    uint32_t object;
    uint64_t offset; /* in the file */
    ARRAY(uint32_t) writers, readers;
    struct flow_totals totals;
};

typedef ARRAY(struct shared_line) shared_line_list;

#define ADD_ONCE(list, number)                                                                     \
    do {                                                                                           \
        size_t at = 0;                                                                             \
        while (at < (list)->count && (list)->items[at] != (number))                                \
            at++;                                                                                  \
        if (at == (list)->count && (number) != GROUP_NONE)                                         \
            ARRAY_PUSH(list, number);                                                              \
    } while (0)

static void note_ends(struct shared_line *line, const struct communication_view *view,
                      size_t number)
{
    uint32_t from = view->from_process[number], to = view->to_process[number];

    switch (communication_flow(view->communication, number)->kind) {
    case TRANSFER_RAW:
        ADD_ONCE(&line->writers, from);
        ADD_ONCE(&line->readers, to);
        break;
    case TRANSFER_WAR:
        ADD_ONCE(&line->readers, from);
        ADD_ONCE(&line->writers, to);
        break;
    default:
        ADD_ONCE(&line->writers, from);
        ADD_ONCE(&line->writers, to);
        break;
    }
}

static uint32_t *label_lines(const struct communication_view *view, shared_line_list *lines)
{
    struct intern_table *keys = intern_table_create();
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));

    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);
        uint64_t key[2] = {flow->profile_index, flow->line_address};

        labels[i] = GROUP_NONE;
        if (view->place[i] == GROUP_NONE || flow->object_kind != OBJECT_SHARED)
            continue;
        labels[i] = intern_table_insert(keys, key, sizeof(key));
        if (labels[i] == lines->count) {
            struct shared_line line = {.object = view->to_object[i],
                                       .offset = flow->line_address - flow->object_base};

            ARRAY_PUSH(lines, line);
        }
        note_ends(&lines->items[labels[i]], view, i);
    }
    intern_table_free(keys);
    return labels;
}

/* "shm (12), shm (13) and 6 others"; with ranks "rank 0, rank 1 and 6 others". The caller frees it.
 */
static char *names_of(const struct model *model, const struct communication_view *view,
                      const uint32_t *numbers, size_t count)
{
    char *text = copy_string(count > 0 ? "" : "-");

    for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
        const struct party *process = &view->processes.items[numbers[i]];
        const char *rank =
            profile_origin_text(model->profiles[process->profile], process->id, "rank", "");
        char *longer = *rank != '\0'
                           ? format_string("%s%srank %s", text, i > 0 ? ", " : "", rank)
                           : format_string("%s%s%s (%" PRId64 ")", text, i > 0 ? ", " : "",
                                           process->name, process->number);

        free(text);
        text = longer;
    }
    if (count > NAMED_MAX) {
        char *longer = format_string("%s and %zu other%s", text, count - NAMED_MAX,
                                     count > NAMED_MAX + 1 ? "s" : "");

        free(text);
        text = longer;
    }
    return text;
}

static int compare_numbers(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static void sort_numbers(uint32_t *numbers, size_t count)
{
    if (count > 1)
        qsort(numbers, count, sizeof(*numbers), compare_numbers);
}

static int compare_lines(const void *left, const void *right)
{
    const struct shared_line *a = left, *b = right;
    double x = a->totals.of[MATRIX_ALL].value, y = b->totals.of[MATRIX_ALL].value;

    if (x != y)
        return x < y ? 1 : -1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static void add_line(struct model *model, const struct communication_view *view,
                     struct document *document, struct table *table, const struct shared_line *line)
{
    const struct data_object *object = &view->objects.items[line->object];
    double true_ones = line->totals.of[MATRIX_TRUE].value;
    double false_ones = line->totals.of[MATRIX_FALSE].value;
    struct row *row = table_row(table);
    char *detail;
    char *name = format_string("%s+0x%" PRIx64, object->name, line->offset);
    char *writers = names_of(model, view, line->writers.items, line->writers.count);
    char *readers = names_of(model, view, line->readers.items, line->readers.count);

    row->cells[LINE] = cell_text(document, name);
    row->cells[FILE_NAME] = cell_text(document, object->name);
    row->cells[OFFSET] = cell_value(CELL_BYTES, (double)line->offset);
    row->cells[WRITERS] = cell_text(document, writers);
    row->cells[READERS] = cell_text(document, readers);
    row->cells[ALL] = flow_count_cell(&line->totals, MATRIX_ALL);
    row->cells[TRUE] = cell_value(CELL_COUNT, true_ones);
    row->cells[FALSE] = cell_value(CELL_COUNT, false_ones);
    row->cells[SHARING] = cell_text(document, !(false_ones > 0)  ? "true"
                                              : !(true_ones > 0) ? "false"
                                                                 : "both");
    detail = format_string("stored to by %s; read by %s", writers, readers);
    row_detail(document, row, detail);
    free(detail);
    free(name);
    free(writers);
    free(readers);
}

void add_process_lines(struct model *model, struct communication_view *view,
                       struct document *document, struct section *section)
{
    struct table *table = document_table(
        document, "sharing.process_lines", "Lines that processes share",
        model->exact ? NULL
                     : "Seen in bursts of each; the lower bound is how often they took "
                       "turns there at least, the rest is modelled.",
        columns, sizeof(columns) / sizeof(*columns));
    shared_line_list lines = {0};
    struct flow_totals *totals;
    uint32_t *labels;
    size_t shown;

    if (view->from_process == NULL)
        return;
    labels = label_lines(view, &lines);
    totals = allocate_zeroed(lines.count, sizeof(*totals));
    flow_totals_of(view->communication, labels, lines.count, totals);
    for (size_t i = 0; i < lines.count; i++)
        lines.items[i].totals = totals[i];
    for (size_t i = 0; i < lines.count; i++) {
        sort_numbers(lines.items[i].writers.items, lines.items[i].writers.count);
        sort_numbers(lines.items[i].readers.items, lines.items[i].readers.count);
    }
    if (lines.count > 0)
        qsort(lines.items, lines.count, sizeof(*lines.items), compare_lines);
    shown = model->options->format == FORMAT_TEXT && lines.count > model->options->top
                ? model->options->top
                : lines.count;
    for (size_t i = 0; i < shown; i++)
        add_line(model, view, document, table, &lines.items[i]);
    if (shown < lines.count) {
        char *remark = format_string("%zu lines: see --top.", lines.count);

        table_remark(document, table, remark);
        free(remark);
    }
    if (lines.count > 0 || model->options->format != FORMAT_TEXT)
        section_table(section, table);
    for (size_t i = 0; i < lines.count; i++) {
        free(lines.items[i].writers.items);
        free(lines.items[i].readers.items);
    }
    free(lines.items);
    free(totals);
    free(labels);
}
