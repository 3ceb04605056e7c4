/* SPDX-License-Identifier: BSD-3-Clause */
/* --threads: what each thread did, and how well its accesses fit the caches. */
#include <stdlib.h>

#include "report/sections/section_support.h"
#include "report/sections/sections.h"
#include "support/descending.h"

static const struct column before[] = {
    {.key = "tid", .heading = "tid"},
    {.key = "name", .heading = "name", .flexible = true},
    {.key = "pid", .heading = "process", .optional = true},
    {.key = "host"},
    {.key = "rank"},
    {.key = "cpu_ns", .heading = "CPU time", .optional = true},
    {.key = "bursts", .heading = "bursts"},
    {.key = "accesses", .heading = "accesses", .interval = INTERVAL_SUFFIXED},
    {.key = "accesses_share", .heading = "share\n%", .optional = true},
};

static const struct column after[] = {{.key = "mrc"}};

enum { TID, NAME, PID, HOST, RANK, CPU, BURSTS, ACCESSES, SHARE };

static struct cell number_cell(const char *text)
{
    return text != NULL ? cell_value(CELL_NUMBER, strtod(text, NULL)) : cell_empty();
}

/* with_curve: false for those of many threads that make the fewest accesses. */
static void add_thread(struct model *model, struct document *document, struct table *table,
                       size_t levels, uint32_t group, bool with_curve)
{
    const struct thread_entry *thread = &model->threads.items[group];
    struct ranked_group ranked = {.group = group, .accesses = model->by_thread.accesses[group]};
    struct row *row = table_row(table);
    double total = model->accesses.value;

    row->cells[TID] = cell_value(CELL_NUMBER, thread->tid);
    row->cells[NAME] = cell_text(document, thread->name);
    row->cells[PID] = number_cell(thread->pid);
    row->cells[HOST] = cell_text(document, thread->host);
    row->cells[RANK] = number_cell(thread->rank);
    row->cells[CPU] =
        thread->cpu_ns > 0 ? cell_value(CELL_TIME, (double)thread->cpu_ns) : cell_empty();
    row->cells[BURSTS] = bursts_cell(model, &model->by_thread, group);
    row->cells[ACCESSES] = cell_estimate(
        CELL_COUNT,
        analysis_subset_accesses(model->analysis, grouping_subset(&model->by_thread, group)));
    row->cells[SHARE] = total > 0 ? cell_value(CELL_SHARE, ranked.accesses / total) : cell_empty();
    if (ranked.accesses > 0) {
        analysis_miss_ratio_curve(model->analysis, grouping_subset(&model->by_thread, group),
                                  model->sizes, model->size_count, ranked.points);
        fill_levels(model, document, table, row, levels, LEVELS_MISS_RATIO, &ranked);
        if (with_curve)
            row->cells[levels + model->machine.levels] =
                cell_table(curve_table(model, document, NULL, ranked.points, NULL));
    }
}

void section_threads(struct model *model, struct document *document)
{
    struct section *section = document_section(document, "threads", "Threads", true);
    struct valued *order;
    struct table *table;
    size_t levels, count, shown;
    char *more;
    const struct column *columns = columns_with_levels(
        model, document, before, sizeof(before) / sizeof(*before), LEVELS_MISS_RATIO, after,
        sizeof(after) / sizeof(*after), &levels, &count);

    model_label_threads(model);
    table = document_table(document, "threads", "Most accesses first",
                           basis_text(model, document, ""), columns, count);
    order = allocate_zeroed(model->threads.count, sizeof(*order));
    for (uint32_t i = 0; i < model->threads.count; i++)
        order[i] = (struct valued){i, model->by_thread.accesses[i]};
    sort_descending(order, model->threads.count);
    /* Text shows as many as were asked for; the other forms have them all. */
    shown = model->options->format == FORMAT_TEXT && model->options->top < model->threads.count
                ? model->options->top
                : model->threads.count;
    for (size_t i = 0; i < shown; i++)
        add_thread(model, document, table, levels, order[i].number, i < model->options->top);
    more = shown < model->threads.count
               ? format_string("%zu more threads: see --top.", model->threads.count - shown)
               : NULL;
    remark_few_bursts(document, table, BURSTS, more);
    free(more);
    free(order);
    section_table(section, table);
}
