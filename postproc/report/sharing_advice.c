/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing_advice.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/false_sharing.h"
#include "report/numbers.h"
#include "report/parting.h"

const uint32_t usual_line_sizes[USUAL_LINE_SIZES] = {64, 128, 256};

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

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

struct cell flow_count_cell(const struct flow_totals *totals, enum matrix_kind kind)
{
    return cell_estimate(CELL_COUNT, totals->of[kind]);
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
    char *others = finding->threads > 2 ? format_string(" and %zu other%s", finding->threads - 2,
                                                        finding->threads > 3 ? "s" : "")
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
    enum parting_worth worth = worth_of(finding, model->accesses.value);
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
    row->cells[TRANSFERS] = flow_count_cell(&finding->transfers, MATRIX_ALL);
    row->cells[WORTH] =
        worth == PARTING_UNCERTAIN ? cell_empty() : cell_truth(worth == PARTING_WORTHY);
    row->cells[TYPE] = cell_text(document, finding->type);
    row->cells[TYPE_SIZE] =
        finding->type_size > 0 ? cell_value(CELL_BYTES, (double)finding->type_size) : cell_empty();
    row->cells[SIZES] = cell_table(size_table(document, finding));
    add_change(document, row, view, finding, analysis_line_size(model->analysis));
}

/* The findings of one kind, added up. */
struct advice_sum {
    size_t count;
    struct estimate transfers;
};

static struct advice_sum sum_of(const struct model *model, const false_sharing_list *findings,
                                enum parting_worth worth)
{
    struct advice_sum sum = {.count = 0};

    for (size_t i = 0; i < findings->count; i++) {
        const struct estimate *transfers = &findings->items[i].transfers.of[MATRIX_ALL];

        if (worth_of(&findings->items[i], model->accesses.value) != worth)
            continue;
        sum.count++;
        sum.transfers.value += transfers->value;
        sum.transfers.lo += transfers->lo;
        sum.transfers.hi += transfers->hi;
    }
    return sum;
}

/* All false transfers of the program, those included that no flow was seen of. */
static struct estimate false_transfers(const struct communication_view *view)
{
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));
    struct estimate total;

    for (size_t i = 0; i < view->count; i++)
        labels[i] = view->place[i] != FLOW_PROGRAM ||
                    communication_flow(view->communication, i)->true_sharing;
    total = communication_total(view->communication, labels, 0);
    free(labels);
    return total;
}

static char *say_worthy(const struct model *model, const struct advice_sum *sum)
{
    char *number = number_count(sum->transfers.value), *low = number_count(sum->transfers.lo);
    char *high = number_count(sum->transfers.hi), *text;
    const char *places = sum->count == 1 ? "place is" : "places are";

    text = model->exact
               ? format_string("False sharing: %zu %s worth parting; that would save %s transfers.",
                               sum->count, places, number)
               : format_string("False sharing: %zu %s worth parting; that would save about %s "
                               "transfers (%s to %s).",
                               sum->count, places, number, low, high);
    free(high);
    free(low);
    free(number);
    return text;
}

/* Why there is nothing to do, or how much there is. */
static char *verdict_of(const struct model *model, const struct communication_view *view,
                        const false_sharing_list *findings)
{
    struct advice_sum worthy = sum_of(model, findings, PARTING_WORTHY);
    struct advice_sum uncertain = sum_of(model, findings, PARTING_UNCERTAIN);
    struct estimate all = false_transfers(view);
    double limit = false_sharing_threshold * model->accesses.value;
    char *most, *least, *text;

    if (worthy.count > 0)
        return say_worthy(model, &worthy);
    if (all.hi == 0)
        return copy_string("No false sharing worth fixing: none was seen.");
    most = number_count(all.hi);
    least = number_count(limit);
    if (uncertain.count > 0)
        text =
            format_string("False sharing was seen at %zu place%s, but too seldom to tell what it "
                          "costs: 0 to %s transfers. Run for longer, or with -e exact.",
                          uncertain.count, uncertain.count == 1 ? "" : "s", most);
    else if (!model->exact && all.hi >= limit)
        text =
            format_string("No false sharing was seen, but up to %s transfers of it may have been "
                          "missed; fixing is worth it from %s on. Run for longer, or with -e "
                          "exact.",
                          most, least);
    else
        text =
            format_string("No false sharing worth fixing: at most %s transfers, none of them again "
                          "and again on one line or %s (one in %.0f accesses) on one pair of "
                          "places.",
                          most, least, 1 / false_sharing_threshold);
    free(least);
    free(most);
    return text;
}

void add_sharing_advice(struct model *model, struct communication_view *view,
                        struct document *document, struct section *section)
{
    false_sharing_list findings = false_sharing_find(model, view);
    char *verdict = verdict_of(model, view, &findings);
    bool worthy = sum_of(model, &findings, PARTING_WORTHY).count > 0;
    struct table *table =
        document_table(document, "sharing.false_sharing",
                       worthy ? "Advice on false sharing" : "What it may be worth to part", NULL,
                       COLUMNS(finding_columns));
    size_t rows = 0;

    section_paragraph(document, section, "sharing.verdict", verdict);
    for (size_t i = 0; i < findings.count; i++) {
        enum parting_worth worth = worth_of(&findings.items[i], model->accesses.value);

        if (model->options->format == FORMAT_TEXT &&
            (worth != (worthy ? PARTING_WORTHY : PARTING_UNCERTAIN) || rows == model->options->top))
            continue;
        add_finding(model, document, table, view, &findings.items[i]);
        rows++;
    }
    if (rows > 0 || model->options->format != FORMAT_TEXT)
        section_table(section, table);
    free(findings.items);
    free(verdict);
}

void add_sharing_fact(struct model *model, struct document *document, struct section *section)
{
    struct communication_view *view = communication_view_of(model);
    struct estimate all, false_ones;
    char *number, *share, *text;

    if (view->communication == NULL || view->threads.count < 2)
        return;
    all = communication_total(view->communication, view->place, FLOW_PROGRAM);
    if (!(all.value > 0))
        return;
    false_ones = false_transfers(view);
    number = number_count(all.value);
    share = number_percent(false_ones.value / all.value);
    text = format_string("%s transfers between threads, %s %% of them false: see --sharing", number,
                         share);
    section_fact_as(document, section, NULL, "Sharing", INTERVAL_NONE,
                    cell_value(CELL_COUNT, all.value), text);
    free(text);
    free(share);
    free(number);
}
