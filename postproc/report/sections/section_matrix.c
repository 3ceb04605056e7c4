/* SPDX-License-Identifier: BSD-3-Clause */
/* --matrix: transfers from each thread, core, process or rank to each other one. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/model/communication_view.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"
#include "report/sharing/sharing_matrix.h"

/* Beyond so many parties the numbers of all pairs are left to the list of those that communicate.
 */
enum { DENSE_MAX = 512, NAMED_MAX = 16 };

static const char *const kind_titles[MATRIX_KINDS] = {
    [MATRIX_ALL] = "all transfers",
    [MATRIX_TRUE] = "true sharing",
    [MATRIX_FALSE] = "false sharing",
    [MATRIX_RAW] = "reads of what another wrote (RAW)",
    [MATRIX_WAR] = "writes over what another had read (WAR)",
    [MATRIX_WAW] = "writes over what another had written (WAW)",
};

/* A matrix in the report: where its numbers go, and whether it is to be seen in text. */
struct shown_matrix {
    struct model *model;
    const struct sharing_matrix *matrix;
    const party_list *parties;
    const char *prefix; /* of JSON keys */
    const char *what;   /* in titles: "", ", in barriers and locks" */
    const char *row_name;
    bool shown;
};

static const struct column pair_columns[] = {
    {.key = "from"},
    {.key = "to"},
    {.heading = "from", .flexible = true},
    {.heading = "to", .flexible = true},
    {.key = "all", .heading = "transfers", .interval = INTERVAL_SUFFIXED},
    {.heading = "true\n%"},
    {.key = "true"},
    {.key = "false"},
    {.key = "raw", .heading = "RAW", .optional = true},
    {.key = "war", .heading = "WAR", .optional = true},
    {.key = "waw", .heading = "WAW", .optional = true},
};

enum { FROM, TO, FROM_TEXT, TO_TEXT, ALL, TRUE_SHARE, TRUE, FALSE, RAW, WAR, WAW };

static char *key_of(const struct shown_matrix *shown, const char *name)
{
    return format_string("%s.%s", shown->prefix, name);
}

static void add_totals(const struct shown_matrix *shown, struct document *document,
                       struct section *section)
{
    const struct estimate *total = shown->matrix->total.of;
    double all = total[MATRIX_ALL].value;
    char *share = number_percent(all > 0 ? total[MATRIX_FALSE].value / all : 0);
    char *number = number_count(all);
    char *range = number_count_range(total[MATRIX_ALL].lo, total[MATRIX_ALL].hi);
    char *text = shown->model->exact ? format_string("%s%s, %s %% of them false sharing", number,
                                                     shown->what, share)
                                     : format_string("%s (%s)%s, %s %% of them false sharing",
                                                     number, range, shown->what, share);

    for (size_t kind = 0; kind < MATRIX_KINDS; kind++) {
        char *name = format_string("%s.total.%s", shown->prefix, matrix_kind_names[kind]);
        const char *key = document_string(document, name);
        bool labelled = kind == MATRIX_ALL && shown->shown;

        section_fact_as(document, section, key, labelled ? "transfers" : NULL, INTERVAL_OBJECT,
                        cell_estimate(CELL_COUNT, total[kind]), labelled ? text : NULL);
        free(name);
    }
    free(text);
    free(number);
    free(range);
    free(share);
}

static double *party_numbers(const party_list *parties)
{
    double *numbers = allocate_zeroed(parties->count, sizeof(*numbers));

    for (size_t i = 0; i < parties->count; i++)
        numbers[i] = (double)parties->items[i].number;
    return numbers;
}

static void add_grids(const struct shown_matrix *shown, struct document *document,
                      struct section *section)
{
    const struct sharing_matrix *matrix = shown->matrix;

    for (size_t kind = 0; kind < MATRIX_KINDS; kind++) {
        bool chosen = kind == shown->model->options->matrix && shown->shown;
        bool dense = matrix->parties <= DENSE_MAX;
        char *key = key_of(shown, matrix_kind_names[kind]);
        char *title = format_string("From %s (rows) to %s: %s%s", shown->row_name, shown->row_name,
                                    kind_titles[kind], shown->what);
        char *text = chosen ? sharing_matrix_grid(matrix, (enum matrix_kind)kind) : copy_string("");
        struct grid grid = {.key = dense ? key : NULL,
                            .title = chosen ? title : NULL,
                            .text = text,
                            .row_name = shown->row_name,
                            .rows = matrix->parties,
                            .columns = matrix->parties};

        if (dense) {
            grid.values = sharing_matrix_dense(matrix, (enum matrix_kind)kind);
            grid.labels = chosen ? party_numbers(shown->parties) : NULL;
        }
        section_grid(document, section, grid);
        free(text);
        free(title);
        free(key);
    }
}

/* Pairs with most transfers of the kind that was asked for first; in JSON and CSV all of them. */
static void add_pairs(const struct shown_matrix *shown, struct document *document,
                      struct section *section)
{
    char *key = key_of(shown, "pairs");
    struct table *table =
        document_table(document, key, shown->shown ? "Pairs that exchange most" : NULL, NULL,
                       pair_columns, sizeof(pair_columns) / sizeof(*pair_columns));
    size_t count = shown->matrix->count, top = shown->model->options->top;

    if (shown->model->options->format == FORMAT_TEXT && count > top)
        count = top;
    for (size_t i = 0; i < count; i++) {
        const struct matrix_pair *pair = &shown->matrix->pairs[i];
        const struct party *from = &shown->parties->items[pair->from];
        const struct party *to = &shown->parties->items[pair->to];
        struct row *row = table_row(table);
        char *from_text = party_text(from, pair->from), *to_text = party_text(to, pair->to);
        double all = pair->transfers.of[MATRIX_ALL].value;

        row->cells[FROM] = cell_value(CELL_NUMBER, (double)from->number);
        row->cells[TO] = cell_value(CELL_NUMBER, (double)to->number);
        row->cells[FROM_TEXT] = cell_text(document, from_text);
        row->cells[TO_TEXT] = cell_text(document, to_text);
        row->cells[ALL] = cell_estimate(CELL_COUNT, pair->transfers.of[MATRIX_ALL]);
        row->cells[TRUE_SHARE] =
            cell_value(CELL_SHARE, all > 0 ? pair->transfers.of[MATRIX_TRUE].value / all : 0);
        row->cells[TRUE] = cell_value(CELL_COUNT, pair->transfers.of[MATRIX_TRUE].value);
        row->cells[FALSE] = cell_value(CELL_COUNT, pair->transfers.of[MATRIX_FALSE].value);
        row->cells[RAW] = cell_value(CELL_COUNT, pair->transfers.of[MATRIX_RAW].value);
        row->cells[WAR] = cell_value(CELL_COUNT, pair->transfers.of[MATRIX_WAR].value);
        row->cells[WAW] = cell_value(CELL_COUNT, pair->transfers.of[MATRIX_WAW].value);
        free(to_text);
        free(from_text);
    }
    if (count < shown->matrix->count) {
        char *remark = format_string("%zu pairs exchange data: see --top.", shown->matrix->count);

        table_remark(document, table, remark);
        free(remark);
    }
    section_table(section, table);
    free(key);
}

/* Which number is which thread. */
static void add_names(const char *what, const party_list *parties, struct document *document,
                      struct section *section)
{
    char *text = format_string("%s: ", what), *longer, *name;

    for (size_t i = 0; i < parties->count && i < NAMED_MAX; i++) {
        name = party_text(&parties->items[i], i);
        longer = format_string("%s%s%s", text, i > 0 ? ", " : "", name);
        free(name);
        free(text);
        text = longer;
    }
    if (parties->count > NAMED_MAX) {
        longer = format_string("%s ... %zu in all, in order of their start (see --threads).", text,
                               parties->count);
        free(text);
        text = longer;
    }
    section_paragraph(document, section, NULL, text);
    free(text);
}

static void add_matrix(const struct shown_matrix *shown, struct document *document,
                       struct section *section)
{
    add_totals(shown, document, section);
    add_grids(shown, document, section);
    add_pairs(shown, document, section);
}

static void add_thread_matrix(struct model *model, struct communication_view *view,
                              struct document *document, struct section *section, bool shown,
                              enum flow_place place)
{
    struct sharing_matrix *matrix =
        sharing_matrix_create(view->communication, view->threads.count, view->from_thread,
                              view->to_thread, view->place, place);
    struct shown_matrix thread_matrix = {
        .model = model,
        .matrix = matrix,
        .parties = &view->threads,
        .prefix = place == FLOW_RUNTIME ? "sharing.runtime" : "sharing",
        .what = place == FLOW_RUNTIME ? " in barriers, locks and thread start" : "",
        .row_name = "thread",
        /* Nothing to see is not worth a second grid. */
        .shown = shown && (place == FLOW_PROGRAM || matrix->total.of[MATRIX_ALL].value > 0)};

    add_matrix(&thread_matrix, document, section);
    sharing_matrix_free(matrix);
}

/* What the matrix is told by, other than threads. */
struct other_parties {
    enum matrix_by by;
    const party_list *parties;
    const uint32_t *from, *to; /* NULL: not known */
    const char *prefix, *vector, *row_name;
    const char *absent; /* why it may not be known */
};

static void list_other_parties(const struct model *model, const struct communication_view *view,
                               struct other_parties out[3])
{
    out[0] = (struct other_parties){
        MATRIX_BY_CORE,
        &view->cores,
        view->from_core,
        view->to_core,
        "sharing.cores",
        "sharing.cores.cpus",
        "CPU",
        model->exact ? "The exact engine does not record CPUs: there is no matrix by core."
                     : "No CPUs were recorded: there is no matrix by core."};
    out[1] = (struct other_parties){
        MATRIX_BY_PROCESS,   &view->processes,
        view->from_process,  view->to_process,
        "sharing.processes", "sharing.processes.pids",
        "process",           "The profile is of one process: name the files of all of them."};
    out[2] = (struct other_parties){
        MATRIX_BY_RANK,  &view->ranks,
        view->from_rank, view->to_rank,
        "sharing.ranks", "sharing.ranks.numbers",
        "rank",          "The profile is not of several ranks: name the files of all of them."};
}

static void add_other_matrix(struct model *model, struct communication_view *view,
                             struct document *document, struct section *section,
                             const struct other_parties *other, bool shown)
{
    struct sharing_matrix *matrix;

    if (other->from == NULL) {
        if (shown)
            section_paragraph(document, section, NULL, other->absent);
        return;
    }
    if (shown && other->by == MATRIX_BY_PROCESS)
        add_names("Processes", other->parties, document, section);
    matrix = sharing_matrix_create(view->communication, other->parties->count, other->from,
                                   other->to, view->place, FLOW_PROGRAM);
    add_matrix(&(struct shown_matrix){.model = model,
                                      .matrix = matrix,
                                      .parties = other->parties,
                                      .prefix = other->prefix,
                                      .what = "",
                                      .row_name = other->row_name,
                                      .shown = shown},
               document, section);
    section_grid(document, section,
                 (struct grid){.key = other->vector,
                               .columns = other->parties->count,
                               .values = party_numbers(other->parties),
                               .vector = true});
    sharing_matrix_free(matrix);
}

void section_matrix(struct model *model, struct document *document, bool shown)
{
    struct section *section =
        document_section(document, "matrix", "Transfers between threads", shown);
    struct communication_view *view = communication_view_of(model);
    const char *note = sharing_line_size_text(model, document);
    struct other_parties others[3];
    bool by_thread = model->options->matrix_by == MATRIX_BY_THREAD;

    if (view->communication == NULL) {
        section_paragraph(document, section, "sharing.unavailable", view->message);
        return;
    }
    if (note != NULL)
        section_paragraph(document, section, "sharing.matrix_model", note);
    section_fact(section, "sharing.unit", NULL, INTERVAL_NONE, cell_text(document, "transfers"));
    section_fact(section, "sharing.line_size", NULL, INTERVAL_NONE,
                 cell_value(CELL_NUMBER, analysis_line_size(model->analysis)));
    section_grid(document, section,
                 (struct grid){.key = "sharing.threads",
                               .columns = view->threads.count,
                               .values = party_numbers(&view->threads),
                               .vector = true});
    if (view->threads.count < 2 && model->options->matrix_by <= MATRIX_BY_CORE) {
        section_paragraph(document, section, NULL,
                          "The program has one thread: there is nobody to share data with.");
        shown = false;
    }
    if (shown && by_thread)
        add_names("Threads", &view->threads, document, section);
    add_thread_matrix(model, view, document, section, shown && by_thread, FLOW_PROGRAM);
    if (model->options->runtime == RUNTIME_SPLIT)
        add_thread_matrix(model, view, document, section, shown && by_thread, FLOW_RUNTIME);
    list_other_parties(model, view, others);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        add_other_matrix(model, view, document, section, &others[i],
                         shown && model->options->matrix_by == others[i].by);
}

static void write_table(const struct sharing_matrix *matrix, enum matrix_kind kind,
                        const party_list *parties, FILE *stream)
{
    double *values = sharing_matrix_dense(matrix, kind);

    fputs("from", stream);
    for (size_t to = 0; to < matrix->parties; to++)
        fprintf(stream, ",%" PRId64, parties->items[to].number);
    fputc('\n', stream);
    for (size_t from = 0; from < matrix->parties; from++) {
        fprintf(stream, "%" PRId64, parties->items[from].number);
        for (size_t to = 0; to < matrix->parties; to++)
            fprintf(stream, ",%.10g", values[from * matrix->parties + to]);
        fputc('\n', stream);
    }
    free(values);
}

bool write_matrix_alone(struct model *model, FILE *stream, char *message, size_t message_size)
{
    const struct report_options *options = model->options;
    struct communication_view *view = communication_view_of(model);
    struct other_parties others[3];
    struct other_parties chosen = {
        .parties = &view->threads, .from = view->from_thread, .to = view->to_thread};
    struct sharing_matrix *matrix;

    list_other_parties(model, view, others);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (options->matrix_by == others[i].by)
            chosen = others[i];
    if (view->communication == NULL || chosen.from == NULL) {
        snprintf(message, message_size, "%s",
                 view->communication == NULL ? view->message : chosen.absent);
        return false;
    }
    matrix = sharing_matrix_create(view->communication, chosen.parties->count, chosen.from,
                                   chosen.to, view->place, FLOW_PROGRAM);
    if (options->csv_layout == CSV_LAYOUT_EAGERMAP)
        sharing_matrix_eagermap(matrix, options->matrix, stream);
    else
        write_table(matrix, options->matrix, chosen.parties, stream);
    sharing_matrix_free(matrix);
    return true;
}
