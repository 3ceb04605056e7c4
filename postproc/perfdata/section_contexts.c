/* SPDX-License-Identifier: BSD-3-Clause */
/* Calling contexts of a perf.data file: of its accesses, or of whatever it sampled. */
#include <stdlib.h>
#include <string.h>

#include "perfdata/sections.h"
#include "perfdata/unwinder.h"
#include "report/model/tally.h"

static const struct column access_columns[] = {
    {.heading = "innermost line", .flexible = true}, TALLY_COLUMNS, {.key = "frames"}};
static const struct column sample_columns[] = {{.heading = "innermost line", .flexible = true},
                                               {.key = "samples", .heading = "samples"},
                                               {.key = "share", .heading = "%"},
                                               {.key = "frames"}};
static const struct column frame_columns[] = {
    {.key = "function"}, {.key = "file"}, {.key = "line"}, {.key = "module"}};

static struct table *frame_table(struct document *document, const struct stack_context *context)
{
    struct table *table = document_table(document, NULL, NULL, NULL, frame_columns,
                                         sizeof frame_columns / sizeof frame_columns[0]);

    for (size_t i = 0; i < context->count; i++) {
        const struct code_place *place = &context->places[i];
        struct row *row = table_row(table);

        row->cells[0] = cell_text(document, place->function);
        row->cells[1] = cell_text(document, place->file);
        row->cells[2] = place->line ? cell_value(CELL_NUMBER, place->line) : cell_empty();
        row->cells[3] = cell_text(document, place->module);
    }
    return table;
}

/* "f < g (file.c:12) < main (file.c:20)" */
static void add_detail(struct document *document, struct row *row,
                       const struct stack_context *context)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_text(&text, &size);

    for (size_t i = 0; i < context->count; i++) {
        const struct code_place *place = &context->places[i];
        char *line = perfdata_line_text(place);

        fprintf(stream, "%s%s", i ? " < " : "", place->function ? place->function : line);
        if (i > 0 && place->function && place->file)
            fprintf(stream, " (%s)", line);
        free(line);
        if (place->function && strcmp(place->function, "main") == 0)
            break;
    }
    fclose(stream);
    row_detail(document, row, text);
    free(text);
}

/* Adds the samples that are looked at; returns how many these are, with those of no stack. */
static uint64_t add_samples(const struct perfdata_view *view, struct tally *tallies,
                            uint64_t *without)
{
    const struct recording *recording = view->recording;
    uint64_t total = 0;

    *without = 0;
    for (size_t i = 0; i < recording->samples.count; i++) {
        const struct recorded_sample *sample = &recording->samples.items[i];
        uint32_t context = view->stacks->context[i];

        if (view->count > 0
                ? sample->access == SIZE_MAX || !view->wanted[sample->access]
                : view->options->thread != 0 && sample->tid != (uint32_t)view->options->thread)
            continue;
        total++;
        if (context == UINT32_MAX) {
            ++*without;
        } else if (view->count > 0) {
            tally_add(&tallies[context], &recording->accesses.items[sample->access]);
        } else {
            tallies[context].samples++;
            tallies[context].weight++;
        }
    }
    return total;
}

static void add_rows(const struct perfdata_view *view, struct document *document,
                     struct table *table, struct tally *tallies, uint64_t total)
{
    const struct stacks *stacks = view->stacks;
    size_t ranked;
    uint32_t *order = tally_ranking(tallies, stacks->contexts.count, view->options->top, &ranked);

    for (size_t i = 0; i < ranked; i++) {
        const struct stack_context *context = &stacks->contexts.items[order[i]];
        struct tally *tally = &tallies[order[i]];
        struct cell cells[TALLY_COLUMN_COUNT] = {{0}};
        size_t count = view->count > 0 ? TALLY_COLUMN_COUNT : 2;
        struct row *row;
        char *line;

        if (tally->samples == 0)
            continue;
        row = table_row(table);
        line = perfdata_line_text(&context->places[0]);
        row->cells[0] = cell_text(document, line);
        free(line);
        tally_cells(tally, (double)total, cells);
        memcpy(row->cells + 1, cells, count * sizeof cells[0]);
        row->cells[1 + count] = cell_table(frame_table(document, context));
        add_detail(document, row, context);
    }
    free(order);
}

static void explain(const struct perfdata_view *view, struct document *document,
                    struct section *section, uint64_t total, uint64_t without)
{
    char *text = NULL;

    if (total == 0)
        text = copy_string("The recording has no stacks: record it with --call-graph fp, or with "
                           "--call-graph dwarf for code without frame pointers. SPE's records have "
                           "none.");
    else if (view->stacks->foreign && !unwinder_is_built_in())
        text =
            copy_string("The recording has registers and stacks, which this build cannot unwind: "
                        "it was configured without libunwind.");
    else if (view->stacks->foreign)
        text = format_string("Registers and stacks of %s are unwound on such a machine only.",
                             view->recording->machine);
    else if (without > 0)
        text = format_string("%llu of %llu samples have no stack.", (unsigned long long)without,
                             (unsigned long long)total);
    if (text)
        section_paragraph(document, section, "contexts_remarks", text);
    free(text);
}

void perfdata_contexts(const struct perfdata_view *view, struct document *document)
{
    bool accesses = view->count > 0;
    struct section *section = document_section(
        document, "contexts",
        accesses ? "Calling contexts by sampled accesses" : "Calling contexts by samples", true);
    struct tally *tallies = allocate_zeroed(view->stacks->contexts.count, sizeof *tallies);
    uint64_t without, total = add_samples(view, tallies, &without);
    struct table *table;
    char *basis;

    if (accesses)
        basis = copy_string("Counts of samples; latency in cycles.");
    else
        basis = format_string("Counts of samples of %s in user space: they are no accesses.",
                              view->recording->event[0] ? view->recording->event
                                                        : "the recorded events");
    table = document_table(document, "contexts", "Most sampled first", basis,
                           accesses ? access_columns : sample_columns,
                           accesses ? sizeof access_columns / sizeof access_columns[0]
                                    : sizeof sample_columns / sizeof sample_columns[0]);
    free(basis);
    add_rows(view, document, table, tallies, total);
    section_table(section, table);
    explain(view, document, section, total, without);
    for (size_t i = 0; i < view->stacks->contexts.count; i++)
        tally_free(&tallies[i]);
    free(tallies);
}
