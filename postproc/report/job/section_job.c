/* SPDX-License-Identifier: BSD-3-Clause */
/* --job: the ranks of a parallel job side by side. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/job/outlier_causes.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"

/* Ranks that are apart whose causes are looked for: each costs two reports. */
enum { CAUSES_MAX = 4 };

enum { SCOPE_COLUMNS = 4 }; /* what stands before the levels in tables of ranks, groups, nodes */

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

/* All that the tables are made of. */
struct job_view {
    struct model *model;
    struct document *document;
    struct section *section;
    const struct job_files *files;
    struct job_figures figures;
};

static const char *misses_name(struct job_view *view, size_t level)
{
    char *text =
        format_string("%s misses, %% of accesses", level_name(view->model, view->document, level));
    const char *name = document_string(view->document, text);

    free(text);
    return name;
}

/* A measure of the ranks: CPU time, or misses at a level. */
struct measure {
    const char *what;
    const struct spread *spread;
    enum cell_kind kind;
    size_t level; /* MACHINE_LEVELS_MAX: CPU time */
};

static bool measure_of(const struct measure *measure, const struct rank_figures *rank,
                       struct estimate *value)
{
    if (measure->level < MACHINE_LEVELS_MAX) {
        *value = rank->misses[measure->level];
        return rank->known[measure->level];
    }
    *value = (struct estimate){rank->cpu_ns, rank->cpu_ns, rank->cpu_ns};
    return rank->cpu_ns > 0;
}

static struct measure time_measure(struct job_view *view)
{
    return (struct measure){"CPU time", &view->figures.time, CELL_TIME, MACHINE_LEVELS_MAX};
}

static struct measure level_measure(struct job_view *view, size_t level)
{
    return (struct measure){misses_name(view, level), &view->figures.misses[level], CELL_SHARE,
                            level};
}

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
        row_detail(view->document, row, causes);
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

/* ---- by rank, node and group ---- */

/* "0-3,7": the ranks for which `labels` has the value; the caller frees it. */
static char *list_ranks(const struct job_figures *job, const uint32_t *labels, uint32_t label)
{
    char *list = copy_string("");

    for (size_t i = 0; i < job->count; i++) {
        size_t last = i;
        char *longer;

        if (labels[i] != label)
            continue;
        while (last + 1 < job->count && labels[last + 1] == label &&
               job->ranks[last + 1].rank == job->ranks[last].rank + 1)
            last++;
        longer =
            last == i
                ? format_string("%s%s%" PRIu64, list, *list != '\0' ? "," : "", job->ranks[i].rank)
                : format_string("%s%s%" PRIu64 "-%" PRIu64, list, *list != '\0' ? "," : "",
                                job->ranks[i].rank, job->ranks[last].rank);
        free(list);
        list = longer;
        i = last;
    }
    return list;
}

/* Columns: the scope, ranks, CPU time, then a level each, then what else there is. */
static struct column *scope_columns(struct job_view *view, const char *key, const char *heading,
                                    const struct column *last, bool single)
{
    struct column *columns =
        document_columns(view->document, SCOPE_COLUMNS + MACHINE_LEVELS_MAX + 2);

    columns[0] = (struct column){.key = key, .heading = heading, .flexible = true};
    columns[1] = single ? (struct column){.key = "host", .heading = "node", .flexible = true}
                        : (struct column){.key = "ranks", .heading = "ranks", .flexible = true};
    columns[2] = single ? (struct column){.key = "bursts", .heading = "bursts"}
                        : (struct column){.key = "count", .heading = "number"};
    columns[3] = (struct column){.key = "cpu_ns", .heading = "CPU time"};
    for (size_t level = 0; level < view->figures.levels; level++) {
        char *level_key = format_string("misses.level%zu", level + 1);
        char *level_heading =
            format_string("%s\n%%", level_name(view->model, view->document, level));

        columns[SCOPE_COLUMNS + level] =
            (struct column){.key = document_string(view->document, level_key),
                            .heading = document_string(view->document, level_heading),
                            .interval = single ? INTERVAL_SUFFIXED : INTERVAL_NONE};
        free(level_key);
        free(level_heading);
    }
    columns[SCOPE_COLUMNS + view->figures.levels] = last[0];
    columns[SCOPE_COLUMNS + view->figures.levels + 1] = last[1];
    return columns;
}

static void add_ranks(struct job_view *view, bool shown)
{
    static const struct column last[2] = {{.key = "group", .heading = "group"},
                                          {.key = "accesses", .interval = INTERVAL_SUFFIXED}};
    struct table *table = document_table(
        view->document, "job.rank_list", shown ? "Each rank" : NULL,
        view->model->exact ? "Misses per access, exact."
                           : "Misses per access, estimated, 95 % intervals.",
        scope_columns(view, "rank", "rank", last, true), SCOPE_COLUMNS + view->figures.levels + 2);

    for (size_t i = 0; i < view->figures.count; i++) {
        const struct rank_figures *rank = &view->figures.ranks[i];
        struct row *row = table_row(table);
        struct cell *rest = row->cells + SCOPE_COLUMNS + view->figures.levels;

        row->cells[0] = cell_value(CELL_NUMBER, (double)rank->rank);
        row->cells[1] = cell_text(view->document, rank->host);
        row->cells[2] = cell_value(CELL_COUNT, (double)rank->bursts);
        row->cells[3] = rank->cpu_ns > 0 ? cell_value(CELL_TIME, rank->cpu_ns) : cell_empty();
        for (size_t level = 0; level < view->figures.levels; level++)
            row->cells[SCOPE_COLUMNS + level] =
                rank->known[level] ? cell_estimate(CELL_SHARE, rank->misses[level]) : cell_empty();
        rest[0] =
            rank->group != GROUP_NONE ? cell_value(CELL_NUMBER, rank->group + 1) : cell_empty();
        rest[1] = cell_estimate(CELL_COUNT, rank->accesses);
    }
    section_table(view->section, table);
}

/* The medians of the ranks that have the label. Returns how many these are. */
static size_t fill_medians(struct job_view *view, struct row *row, const uint32_t *labels,
                           uint32_t label)
{
    const struct job_figures *job = &view->figures;
    double *values = allocate_zeroed(job->count, sizeof(*values));
    char *list = list_ranks(job, labels, label);
    size_t members = 0;

    for (size_t i = 0; i < job->count; i++)
        members += labels[i] == label;
    row->cells[1] = cell_text(view->document, list);
    row->cells[2] = cell_value(CELL_NUMBER, (double)members);
    for (size_t cell = 0; cell <= job->levels; cell++) {
        struct measure measure = cell == 0 ? time_measure(view) : level_measure(view, cell - 1);
        struct estimate value;
        size_t count = 0;

        for (size_t i = 0; i < job->count; i++)
            if (labels[i] == label && measure_of(&measure, &job->ranks[i], &value))
                values[count++] = value.value;
        row->cells[SCOPE_COLUMNS - 1 + cell] =
            count > 0 ? cell_value(measure.kind, spread_of(values, count).median) : cell_empty();
    }
    free(list);
    free(values);
    return members;
}

static void add_groups(struct job_view *view)
{
    static const struct column none[2] = {{0}, {0}};
    struct table *table = document_table(
        view->document, "job.groups", "Ranks that behave alike", "Medians over the group's ranks.",
        scope_columns(view, "group", "group", none, false), SCOPE_COLUMNS + view->figures.levels);
    uint32_t *labels = allocate_zeroed(view->figures.count, sizeof(*labels));

    for (size_t i = 0; i < view->figures.count; i++)
        labels[i] = view->figures.ranks[i].group;
    for (uint32_t group = 0; group < view->figures.groups; group++) {
        struct row *row = table_row(table);

        row->cells[0] = cell_value(CELL_NUMBER, group + 1);
        fill_medians(view, row, labels, group);
    }
    table_remark(view->document, table,
                 "Each rank, in order, joins the first group from whose first rank its misses per "
                 "access differ at no level: by less than 10 %, or by less than the interval of "
                 "the difference, widened for the number of ranks and levels.");
    section_table(view->section, table);
    free(labels);
}

/* Numbers the hosts; returns how many there are. names: room for one per rank. */
static size_t number_nodes(const struct job_figures *job, uint32_t *labels, const char **names)
{
    size_t count = 0;

    for (size_t i = 0; i < job->count; i++) {
        size_t node = 0;

        while (node < count && strcmp(names[node], job->ranks[i].host) != 0)
            node++;
        if (node == count)
            names[count++] = job->ranks[i].host;
        labels[i] = (uint32_t)node;
    }
    return count;
}

/* Bytes of the last level for each of a node's ranks, where they spread over its caches evenly and
 * use a CPU each. 0: not known. */
static double share_of_last_level(const struct model *model, size_t ranks)
{
    const struct machine_cache *last;

    if (model->machine.levels == 0 || model->machine_assumed)
        return 0;
    last = &model->machine.caches[model->machine.levels - 1];
    return last->sharing_cpus > 0
               ? (double)last->bytes /
                     (double)(ranks < last->sharing_cpus ? ranks : last->sharing_cpus)
               : 0;
}

static void add_nodes(struct job_view *view, bool asked)
{
    static const struct column last[2] = {
        {.key = "last_level_share", .heading = "last level\neach, least"}, {0}};
    uint32_t *labels = allocate_zeroed(view->figures.count, sizeof(*labels));
    const char **names = allocate_zeroed(view->figures.count, sizeof(*names));
    size_t nodes = number_nodes(&view->figures, labels, names);
    bool shown = asked || nodes > 1;
    struct table *table = document_table(
        view->document, "job.nodes", shown ? "Each node" : NULL, "Medians over the node's ranks.",
        scope_columns(view, "host", "node", last, false), SCOPE_COLUMNS + view->figures.levels + 1);

    for (uint32_t node = 0; node < nodes; node++) {
        struct row *row = table_row(table);
        size_t ranks = fill_medians(view, row, labels, node);
        double share = share_of_last_level(view->model, ranks);

        row->cells[0] = cell_text(view->document, names[node]);
        if (share > 0)
            row->cells[SCOPE_COLUMNS + view->figures.levels] = cell_value(CELL_BYTES, share);
    }
    table_remark(view->document, table,
                 "The ranks of a node compete for its last level: each has at least this part of "
                 "it when they use it alike and packed as closely as can be, a CPU each. --mrc "
                 "tells the misses at that size.");
    section_table(view->section, table);
    free(names);
    free(labels);
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
        add_groups(&view);
    if (by != JOB_BY_RANK && by != JOB_BY_GROUP)
        add_nodes(&view, by == JOB_BY_NODE);
    if (by == JOB_BY_RANK || model->options->format != FORMAT_TEXT)
        add_ranks(&view, by == JOB_BY_RANK);
    job_figures_free(&view.figures);
}
