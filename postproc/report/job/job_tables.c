/* SPDX-License-Identifier: BSD-3-Clause */
/* --by rank, node and group: a job's ranks, one by one or put together. See job_view.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/job/job_view.h"
#include "report/sections/section_support.h"

enum { SCOPE_COLUMNS = 4 }; /* what stands before the levels */

static const char *misses_name(struct job_view *view, size_t level)
{
    char *text =
        format_string("%s misses, %% of accesses", level_name(view->model, view->document, level));
    const char *name = document_string(view->document, text);

    free(text);
    return name;
}

bool measure_of(const struct measure *measure, const struct rank_figures *rank,
                struct estimate *value)
{
    if (measure->level < MACHINE_LEVELS_MAX) {
        *value = rank->misses[measure->level];
        return rank->known[measure->level];
    }
    *value = (struct estimate){rank->cpu_ns, rank->cpu_ns, rank->cpu_ns};
    return rank->cpu_ns > 0;
}

struct measure time_measure(struct job_view *view)
{
    return (struct measure){"CPU time", &view->figures.time, CELL_TIME, MACHINE_LEVELS_MAX};
}

struct measure level_measure(struct job_view *view, size_t level)
{
    return (struct measure){misses_name(view, level), &view->figures.misses[level], CELL_SHARE,
                            level};
}

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

void job_add_ranks(struct job_view *view, bool shown)
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

void job_add_groups(struct job_view *view)
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

void job_add_nodes(struct job_view *view, bool asked)
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
