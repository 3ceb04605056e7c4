/* SPDX-License-Identifier: BSD-3-Clause */
/* --job: the ranks of a parallel job side by side. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/job/job_view.h"
#include "report/job/outlier_causes.h"
#include "report/sections/sections.h"

/* Ranks that are apart whose causes are looked for: each costs two reports. */
enum { CAUSES_MAX = 4 };

static const struct column spread_columns[] = {
    {.key = "what", .heading = "over ranks"},
    {.key = "ranks"},
    {.key = "least", .heading = "least"},
    {.key = "lower_quartile", .heading = "25 %"},
    {.key = "median", .heading = "median"},
    {.key = "upper_quartile", .heading = "75 %"},
    {.key = "most", .heading = "most"},
    {.key = "least_rank", .heading = "least\nin rank"},
    {.key = "most_rank", .heading = "most\nin rank"},
};

static const struct column outlier_columns[] = {
    {.key = "rank", .heading = "rank"},
    {.key = "host", .heading = "node", .flexible = true},
    {.key = "what", .heading = "what"},
    {.key = "value", .heading = "value", .interval = INTERVAL_SUFFIXED},
    {.key = "median", .heading = "median"},
    {.key = "score", .heading = "score"},
    {.key = "causes"},
};

/* ---- the spread ---- */

static void add_spread_row(struct job_view *view, struct table *table,
                           const struct measure *measure)
{
    const struct spread *spread = measure->spread;
    const double values[] = {spread->least, spread->lower, spread->median, spread->upper,
                             spread->most};
    const struct rank_figures *least = NULL, *most = NULL;
    struct estimate value;
    struct row *row;

    if (spread->count == 0)
        return;
    for (size_t i = 0; i < view->figures.count; i++) {
        const struct rank_figures *rank = &view->figures.ranks[i];

        if (!measure_of(measure, rank, &value))
            continue;
        if (least == NULL && value.value == spread->least)
            least = rank;
        if (most == NULL && value.value == spread->most)
            most = rank;
    }
    row = table_row(table);
    row->cells[0] = cell_text(view->document, measure->what);
    row->cells[1] = cell_value(CELL_NUMBER, (double)spread->count);
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        row->cells[2 + i] = cell_value(measure->kind, values[i]);
    row->cells[7] = cell_value(CELL_NUMBER, least != NULL ? (double)least->rank : 0);
    row->cells[8] = cell_value(CELL_NUMBER, most != NULL ? (double)most->rank : 0);
}

static void add_spread(struct job_view *view)
{
    struct table *table = document_table(
        view->document, "job.spread", "Ranks: least, quartiles and most",
        view->model->exact ? "Misses: exact, of modelled private LRU caches."
                           : "CPU time: measured, of the program alone. Misses: estimated for each "
                             "rank, of modelled private LRU caches.",
        spread_columns, sizeof(spread_columns) / sizeof(*spread_columns));
    struct measure measure = time_measure(view);
    size_t few = 0;
    char *remark;

    add_spread_row(view, table, &measure);
    for (size_t level = 0; level < view->figures.levels; level++) {
        measure = level_measure(view, level);
        add_spread_row(view, table, &measure);
    }
    for (size_t i = 0; i < view->figures.count; i++)
        few += !view->figures.ranks[i].enough;
    if (few > 0) {
        remark =
            format_string("%zu rank%s with fewer than %d bursts: no misses are told of %s.", few,
                          few == 1 ? "" : "s", MODEL_BURSTS_MIN, few == 1 ? "it" : "them");
        table_remark(view->document, table, remark);
        free(remark);
    }
    section_table(view->section, table);
}

/* ---- outliers ---- */

/* The rank nearest to the median at a level, of those that are not apart. */
static const struct rank_figures *typical_rank(const struct job_figures *job, size_t level)
{
    const struct rank_figures *found = NULL;
    double nearest = INFINITY;

    for (size_t i = 0; i < job->count; i++) {
        double apart = fabs(job->ranks[i].misses[level].value - job->misses[level].median);

        if (!job->ranks[i].known[level] || job->ranks[i].apart[level] || apart >= nearest)
            continue;
        nearest = apart;
        found = &job->ranks[i];
    }
    return found;
}

static struct row *add_outlier(struct job_view *view, struct table *table,
                               const struct measure *measure, const struct rank_figures *rank)
{
    struct row *row = table_row(table);
    struct estimate value;

    measure_of(measure, rank, &value);
    row->cells[0] = cell_value(CELL_NUMBER, (double)rank->rank);
    row->cells[1] = cell_text(view->document, rank->host);
    row->cells[2] = cell_text(view->document, measure->what);
    row->cells[3] = measure->kind == CELL_TIME ? cell_value(CELL_TIME, value.value)
                                               : cell_estimate(measure->kind, value);
    row->cells[4] = cell_value(measure->kind, measure->spread->median);
    if (isfinite(spread_score(measure->spread, value.value)))
        row->cells[5] =
            cell_value(CELL_NUMBER, round(10 * spread_score(measure->spread, value.value)) / 10);
    return row;
}

/* A rank's outlying levels; the causes are told at the first of them. */
static void add_rank_outliers(struct job_view *view, struct table *table,
                              const struct rank_figures *rank, size_t *looked_at)
{
    bool told = false;

    for (size_t level = 0; level < view->figures.levels; level++) {
        const struct rank_figures *typical = typical_rank(&view->figures, level);
        struct measure measure = level_measure(view, level);
        struct row *row;
        char *causes;

        if (!rank->apart[level])
            continue;
        row = add_outlier(view, table, &measure, rank);
        if (told || typical == NULL || *looked_at == CAUSES_MAX)
            continue;
        told = true;
        (*looked_at)++;
        causes = outlier_causes(view->model, view->files, typical, rank);
        if (causes == NULL)
            continue;
        row->cells[6] = cell_text(view->document, causes);
        row_prose(view->document, row, causes);
        free(causes);
    }
}

/* Ranks of which the best known figure is known. */
static size_t most_known(const struct job_figures *job)
{
    size_t most = job->time.count;

    for (size_t level = 0; level < job->levels; level++)
        if (job->misses[level].count > most)
            most = job->misses[level].count;
    return most;
}

static void add_outliers(struct job_view *view)
{
    static const char remark[] =
        "Score: distance from the median in units of 1.4826 times the median absolute deviation "
        "(1.2533 times the mean one where most ranks are equal). A rank is apart beyond 3.5 "
        "(Iglewicz and Hoaglin) and 10 %, and if its misses' interval, widened for the number of "
        "ranks and levels, does not hold the median. CPU time is measured once: it has no "
        "interval.";
    struct table *table =
        document_table(view->document, "job.outliers", "Ranks apart from the others", NULL,
                       outlier_columns, sizeof(outlier_columns) / sizeof(*outlier_columns));
    struct measure time = time_measure(view);
    size_t looked_at = 0;

    for (size_t i = 0; i < view->figures.count; i++) {
        const struct rank_figures *rank = &view->figures.ranks[i];

        if (rank->time_apart)
            add_outlier(view, table, &time, rank);
        add_rank_outliers(view, table, rank, &looked_at);
    }
    if (table->rows.count > 0)
        table_remark(view->document, table, remark);
    if (table->rows.count > 0 || view->model->options->format != FORMAT_TEXT)
        section_table(view->section, table);
    else if (most_known(&view->figures) < SPREAD_VALUES_MIN)
        section_paragraph(view->document, view->section, NULL,
                          "Fewer than 5 ranks have figures: none is told apart from the others");
    else
        section_paragraph(view->document, view->section, NULL,
                          "No rank is shown to be apart from the others");
}

static void add_notes(struct job_view *view)
{
    for (size_t i = 0; i < view->files->notes.count; i++)
        section_paragraph(view->document, view->section, "job.notes", view->files->notes.items[i]);
}

static void add_facts(struct job_view *view)
{
    char *ranks =
        view->files->expected > 0
            ? format_string("%zu of %" PRIu64, view->files->distinct, view->files->expected)
            : format_string("%zu", view->files->distinct);

    section_fact(view->section, "job.id", "job", INTERVAL_NONE,
                 cell_text(view->document, view->files->id));
    section_fact(view->section, "job.program", "program", INTERVAL_NONE,
                 cell_text(view->document, view->files->program));
    section_fact_as(view->document, view->section, "job.ranks", "ranks", INTERVAL_NONE,
                    cell_value(CELL_NUMBER, (double)view->files->distinct), ranks);
    if (view->files->expected > 0)
        section_fact(view->section, "job.expected_ranks", NULL, INTERVAL_NONE,
                     cell_value(CELL_NUMBER, (double)view->files->expected));
    free(ranks);
}

void section_job(struct model *model, const struct job_files *files, struct document *document)
{
    struct job_view view = {.model = model, .document = document, .files = files};
    enum job_by by = model->options->job_by;

    view.section = document_section(document, "job", "The job", true);
    if (files == NULL || files->id == NULL) {
        section_paragraph(document, view.section, NULL,
                          "Not known: name the profiles of a job's ranks, or their folder");
        return;
    }
    add_facts(&view);
    add_notes(&view);
    job_figures_of(model, files, &view.figures);
    add_spread(&view);
    add_outliers(&view);
    if (by == JOB_BY_DEFAULT || by == JOB_BY_GROUP || model->options->format != FORMAT_TEXT)
        job_add_groups(&view);
    if (by != JOB_BY_RANK && by != JOB_BY_GROUP)
        job_add_nodes(&view, by == JOB_BY_NODE);
    if (by == JOB_BY_RANK || model->options->format != FORMAT_TEXT)
        job_add_ranks(&view, by == JOB_BY_RANK);
    job_figures_free(&view.figures);
}
