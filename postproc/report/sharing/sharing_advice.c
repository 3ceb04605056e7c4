/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/sharing_advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/communication/contention.h"
#include "document/numbers.h"
#include "report/model/parting.h"
#include "report/sharing/false_sharing.h"

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
    {.key = "basis"},
    {.key = "time_share"},
    {.key = "cost_share"},
    {.key = "access_ns"},
    {.key = "change"},
    {.key = "type"},
    {.key = "type_size"},
    {.key = "line_sizes"},
    {.key = "first_offset"},
    {.key = "first_size"},
    {.key = "second_offset"},
    {.key = "second_size"},
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
    BASIS,
    TIME_SHARE,
    COST_SHARE,
    ACCESS_NS,
    CHANGE,
    TYPE,
    TYPE_SIZE,
    SIZES,
    FIRST_OFFSET,
    FIRST_SIZE,
    SECOND_OFFSET,
    SECOND_SIZE
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

/* The part of these threads' CPU time that transfers take; not more than what they spend in loops
 * that use the lines. */
static double cost_share(const struct false_sharing *finding)
{
    const struct sharing_cost *cost = &finding->cost;
    double all = finding->transfers.of[MATRIX_ALL].value * line_transfer_ns.value;

    return cost->cpu_ns > 0 ? fmin(cost->loops, all / cost->cpu_ns) : 0;
}

/* "threads 1 and 2 and 6 others: CHANGE For lines of 256 bytes: ... TRIAL" */
static void add_change(struct document *document, struct row *row,
                       const struct communication_view *view, const struct false_sharing *finding,
                       uint32_t line_size)
{
    char *change = parting_text(finding, &view->objects, line_size), *detail;
    char *trial = parting_trial(finding, &view->objects, line_size);
    struct parting larger = parting_for(finding, 256);
    char *others = finding->threads > 2 ? format_string(" and %zu other%s", finding->threads - 2,
                                                        finding->threads > 3 ? "s" : "")
                                        : copy_string("");
    char *more = larger.new_size > 0 && line_size < 256
                     ? format_string(" For lines of 256 bytes: alignas(256), %" PRIu64 " bytes%s.",
                                     larger.new_size,
                                     finding->collision == COLLISION_ELEMENTS ? " each" : "")
                     : copy_string("");

    detail = format_string("threads %d and %d%s. %s%s%s", (int)finding->sides[0].thread,
                           (int)finding->sides[1].thread, others, change, more, trial);
    row->cells[CHANGE] = cell_text(document, change);
    row_prose(document, row, detail);
    free(detail);
    free(trial);
    free(more);
    free(others);
    free(change);
}

/* Where the two lie in their structure, or in the array; objects side by side are in neither. */
static void put_offsets(struct row *row, const struct false_sharing *finding)
{
    static const size_t cells[][2] = {{FIRST_OFFSET, FIRST_SIZE}, {SECOND_OFFSET, SECOND_SIZE}};

    if (finding->collision == COLLISION_OBJECTS)
        return;
    for (size_t i = 0; i < 2; i++) {
        const struct collision_side *side = &finding->sides[i];
        uint64_t start;

        if (side->offset == OFFSET_UNKNOWN)
            continue;
        start = finding->collision == COLLISION_MEMBERS ? side->instance_offset : 0;

        row->cells[cells[i][0]] = cell_value(CELL_BYTES, (double)(side->offset - start));
        if (side->size > 0)
            row->cells[cells[i][1]] = cell_value(CELL_BYTES, (double)side->size);
    }
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
    row->cells[BASIS] = cell_text(document, model->exact                         ? "exact"
                                            : false_sharing_is_modelled(finding) ? "modelled"
                                                                                 : "estimated");
    if (finding->cost.cpu_ns > 0) {
        row->cells[TIME_SHARE] = cell_value(CELL_SHARE, finding->cost.loops);
        row->cells[COST_SHARE] = cell_value(CELL_SHARE, cost_share(finding));
        if (finding->cost.access_ns > 0)
            row->cells[ACCESS_NS] = cell_value(CELL_TIME, finding->cost.access_ns);
    }
    row->cells[TYPE] = cell_text(document, finding->type);
    row->cells[TYPE_SIZE] =
        finding->type_size > 0 ? cell_value(CELL_BYTES, (double)finding->type_size) : cell_empty();
    row->cells[SIZES] = cell_table(size_table(document, finding));
    put_offsets(row, finding);
    add_change(document, row, view, finding, analysis_line_size(model->analysis));
}

/* The findings of one kind, added up. */
struct advice_sum {
    size_t count;
    struct estimate transfers;
    const struct false_sharing *worst;
};

static struct advice_sum sum_of(const struct model *model, const false_sharing_list *findings,
                                enum parting_worth worth)
{
    struct advice_sum sum = {.count = 0};

    for (size_t i = 0; i < findings->count; i++) {
        const struct estimate *transfers = &findings->items[i].transfers.of[MATRIX_ALL];

        if (worth_of(&findings->items[i], model->accesses.value) != worth)
            continue;
        if (sum.count++ == 0)
            sum.worst = &findings->items[i];
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

/* ", where an access takes 11 ns (0.8 elsewhere)", as far as it is known. */
static char *pace_text(const struct sharing_cost *cost)
{
    if (!(cost->access_ns > 0))
        return copy_string("");
    return cost->elsewhere_ns > 0
               ? format_string(", where an access takes %.2g ns (%.2g elsewhere)", cost->access_ns,
                               cost->elsewhere_ns)
               : format_string(", where an access takes %.2g ns", cost->access_ns);
}

/* Who does what at the worst place, where it is threads that fight over a line. */
static char *say_fight(const struct false_sharing *finding)
{
    const struct sharing_cost *cost = &finding->cost;
    char *others, *loops, *share, *pace, *text;

    if (!false_sharing_is_modelled(finding))
        return copy_string("");
    others = finding->threads > 2
                 ? format_string(", %d and %zu other%s", (int)finding->sides[1].thread,
                                 finding->threads - 2, finding->threads > 3 ? "s" : "")
                 : format_string(" and %d", (int)finding->sides[1].thread);
    text = format_string(" %s and %s lie on one line, which threads %d%s use at the same time.",
                         finding->sides[0].path, finding->sides[1].path,
                         (int)finding->sides[0].thread, others);
    if (cost->cpu_ns > 0) {
        char *first = text;

        loops = number_percent(cost->loops);
        share = number_percent(cost_share(finding));
        pace = pace_text(cost);
        text = format_string("%s They spend %s %% of their CPU time in loops that use it%s; at "
                             "%.0f ns a transfer, moving it takes some %s %%.",
                             first, loops, pace, line_transfer_ns.value, share);
        free(pace);
        free(share);
        free(loops);
        free(first);
    }
    free(others);
    return text;
}

static char *say_worthy(const struct model *model, const struct advice_sum *sum)
{
    char *number = number_count(sum->transfers.value), *fight = say_fight(sum->worst), *text;
    char *range = number_count_range(sum->transfers.lo, sum->transfers.hi);
    const char *places = sum->count == 1 ? "place is" : "places are";

    text = model->exact
               ? format_string("False sharing: %zu %s worth parting; that would save %s transfers.",
                               sum->count, places, number)
               : format_string("False sharing: %zu %s worth parting; that would save about %s "
                               "transfers (%s%s).%s",
                               sum->count, places, number, range,
                               false_sharing_is_modelled(sum->worst) ? ", modelled" : "", fight);
    free(fight);
    free(range);
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
    if (uncertain.count > 0 && false_sharing_is_modelled(uncertain.worst) &&
        !(uncertain.transfers.lo > 0))
        text = format_string("False sharing is possible at %zu place%s, but threads were hardly "
                             "met there at the same time: 0 to %s transfers. Run for longer, or "
                             "with -e exact.",
                             uncertain.count, uncertain.count == 1 ? "" : "s", most);
    else if (uncertain.count > 0)
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
    else if (all.hi < limit)
        text = format_string("No false sharing worth fixing: it moves lines at most %s times, less "
                             "than once in %.0f accesses.",
                             most, 1 / false_sharing_threshold);
    else
        text = format_string("No false sharing worth fixing: it moves lines %s times, but spread "
                             "over so many lines or pieces of code that to cure it at any one of "
                             "them would save little.",
                             most);
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
    bool modelled = false;

    section_paragraph(document, section, "sharing.verdict", verdict);
    for (size_t i = 0; i < findings.count; i++) {
        enum parting_worth worth = worth_of(&findings.items[i], model->accesses.value);

        if (model->options->format == FORMAT_TEXT &&
            (worth != (worthy ? PARTING_WORTHY : PARTING_UNCERTAIN) || rows == model->options->top))
            continue;
        add_finding(model, document, table, view, &findings.items[i]);
        modelled |= false_sharing_is_modelled(&findings.items[i]);
        rows++;
    }
    if (modelled)
        table_remark(document, table,
                     "Threads that use a line at the same time and in no order: transfers are "
                     "modelled from how often each uses it, how often they were met there "
                     "together, and how fast a line can move.");
    if (rows > 0 || model->options->format != FORMAT_TEXT)
        section_table(section, table);
    free(findings.items);
    free(verdict);
}

void add_sharing_fact(struct model *model, struct document *document, struct section *section)
{
    struct communication_view *view = communication_view_of(model);
    struct estimate all, false_ones;
    char *number, *range, *share, *text;

    if (view->communication == NULL || view->threads.count < 2)
        return;
    all = communication_total(view->communication, view->place, FLOW_PROGRAM);
    if (!(all.value > 0))
        return;
    false_ones = false_transfers(view);
    number = number_count(all.value);
    share = number_percent(false_ones.value / all.value);
    range = number_count_range(all.lo, all.hi);
    text =
        all.hi > all.lo
            ? format_string("%s (%s) transfers between threads, %s %% of them false: see --sharing",
                            number, range, share)
            : format_string("%s transfers between threads, %s %% of them false: see --sharing",
                            number, share);
    free(range);
    section_fact_as(document, section, NULL, "Sharing", INTERVAL_NONE,
                    cell_value(CELL_COUNT, all.value), text);
    free(text);
    free(share);
    free(number);
}
