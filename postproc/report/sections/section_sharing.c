/* SPDX-License-Identifier: BSD-3-Clause */
/* --sharing: data that moves between threads, on which objects and lines, and what false sharing
 * costs. */
#include <stdlib.h>

#include "document/numbers.h"
#include "report/model/communication_view.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"
#include "report/sharing/flow_groups.h"
#include "report/sharing/line_pairs.h"
#include "report/sharing/process_lines.h"
#include "report/sharing/sharing_advice.h"
#include "report/sharing/sharing_truth.h"
#include "report/sharing/transfer_distances.h"

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

static const struct column line_size_columns[] = {
    {.key = "line_size", .heading = "line size"},
    {.key = "all", .heading = "transfers", .interval = INTERVAL_SUFFIXED},
    {.key = "false", .heading = "false", .interval = INTERVAL_SUFFIXED},
};

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

/* `wanted` of the program's own flows, none of the others. */
static uint32_t *program_labels(const struct communication_view *view, const uint32_t *wanted)
{
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));

    for (size_t i = 0; i < view->count; i++)
        labels[i] = view->place[i] == FLOW_PROGRAM ? wanted[i] : (uint32_t)GROUP_NONE;
    return labels;
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

/* Of the threading runtime, which the matrix has apart. */
static double runtime_transfers(const struct communication_view *view)
{
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));
    double transfers;

    for (size_t i = 0; i < view->count; i++)
        labels[i] = view->place[i] != FLOW_RUNTIME;
    transfers = communication_total(view->communication, labels, 0).value;
    free(labels);
    return transfers;
}

static char *unknown_text(const struct communication_view *view, double all)
{
    double unknown = unknown_transfers(view);
    char *share, *text;

    if (!(all > 0 && unknown > 0.01 * all))
        return copy_string("");
    share = number_percent(unknown / all);
    text = format_string("Of %s %% of the transfers only the threads are known.", share);
    free(share);
    return text;
}

/* A lock that threads fight over is the program's affair, and is among these. */
static char *left_out_text(const struct communication_view *view, double all)
{
    double left_out = runtime_transfers(view);
    char *share, *text;

    if (!(left_out > 0.01 * (left_out + all)))
        return copy_string("");
    share = number_percent(left_out / (left_out + all));
    text = format_string("%s %% of the transfers are left out: code of the C library and run-time "
                         "libraries, as that of locks and barriers (--runtime include).",
                         share);
    free(share);
    return text;
}

static void remark_missing(struct document *document, struct table *table,
                           const struct communication_view *view, double all)
{
    char *unknown = unknown_text(view, all), *left_out = left_out_text(view, all);
    char *remark = format_string("%s%s%s", unknown,
                                 *unknown != '\0' && *left_out != '\0' ? " " : "", left_out);

    if (*remark != '\0')
        table_remark(document, table, remark);
    free(remark);
    free(left_out);
    free(unknown);
}

static void add_objects(struct model *model, struct communication_view *view,
                        struct document *document, struct section *section)
{
    struct table *table =
        document_table(document, "sharing.objects", "Objects whose lines move most",
                       basis_text(model, document, ""), COLUMNS(object_columns));
    uint32_t *labels = program_labels(view, view->to_object);
    struct flow_group *groups = flow_groups_sorted(view, labels, view->objects.count);
    double all = program_transfers(view);
    size_t rows = flow_groups_shown(model, view->objects.count);

    for (size_t i = 0; i < rows; i++) {
        if (flow_group_is_negligible(model, groups[i].totals.of[MATRIX_ALL].value, all))
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
    remark_missing(document, table, view, all);
    section_table(section, table);
    free(groups);
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
    add_line_pairs(model, view, document, section);
    add_transfer_distances(model, view, document, section);
    add_line_sizes(model, document, section);
}
