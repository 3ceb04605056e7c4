/* SPDX-License-Identifier: BSD-3-Clause */
/* What the recording is, what is left out, and where its loads were served. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/sections.h"
#include "perfdata/tally.h"

static const struct column source_columns[] = {{.key = "source", .heading = "served by"},
                                               TALLY_COLUMNS};
static const struct column translation_columns[] = {
    {.key = "translation", .heading = "translated by"}, TALLY_COLUMNS};

static void add_fact(struct document *document, struct section *section, const char *key,
                     const char *label, const char *text)
{
    if (text[0] != '\0')
        section_fact(section, key, label, INTERVAL_NONE, cell_text(document, text));
}

/* A table over an enumeration of the access records. */
static struct table *table_by(const struct perfdata_view *view, struct document *document,
                              const char *key, const char *title, const char *basis,
                              const struct column *columns, size_t values,
                              size_t (*value)(const struct access_record *),
                              const char *(*name)(size_t))
{
    struct table *table =
        document_table(document, key, title, basis, columns, 1 + TALLY_COLUMN_COUNT);
    struct tally *tallies = allocate_zeroed(values, sizeof *tallies);
    size_t ranked;
    uint32_t *order;

    for (size_t i = 0; i < view->recording->accesses.count; i++)
        if (view->wanted[i])
            tally_add(&tallies[value(&view->recording->accesses.items[i])],
                      &view->recording->accesses.items[i]);
    order = tally_ranking(tallies, values, values, &ranked);
    for (size_t i = 0; i < ranked; i++) {
        struct tally *tally = &tallies[order[i]];
        struct row *row;

        if (tally->samples == 0)
            continue;
        row = table_row(table);
        row->cells[0] = cell_text(document, name(order[i]));
        tally_cells(tally, view->count, row->cells + 1);
    }
    free(order);
    for (size_t i = 0; i < values; i++)
        tally_free(&tallies[i]);
    free(tallies);
    return table;
}

static size_t level_of(const struct access_record *access)
{
    return access->level < LEVEL_COUNT ? access->level : LEVEL_UNKNOWN;
}

static const char *level_text(size_t level)
{
    return access_level_name((enum access_level)level);
}

static size_t translation_of(const struct access_record *access)
{
    return access->translation < TRANSLATION_COUNT ? access->translation : TRANSLATION_UNKNOWN;
}

static const char *translation_text(size_t translation)
{
    return access_translation_name((enum access_translation)translation);
}

/* What was recorded and is not among the accesses. */
static void add_left_out(const struct recording *recording, struct section *section)
{
    const struct {
        const char *key, *label;
        uint64_t count;
    } counts[] = {
        {"left_out.kernel", "in the kernel", recording->kernel},
        {"left_out.no_access", "no memory access", recording->no_access},
        {"left_out.no_address", "without an address", recording->no_address},
        {"left_out.speculative", "never retired", recording->speculative},
        {"left_out.damaged", "not readable", recording->damaged},
        {"lost.records", "records lost", recording->lost},
        {"lost.throttled", "times throttled", recording->throttled},
        {"lost.truncated", "buffers cut short", recording->truncated},
    };

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        section_fact(section, counts[i].key, counts[i].count ? counts[i].label : NULL,
                     INTERVAL_NONE, cell_value(CELL_COUNT, (double)counts[i].count));
}

void perfdata_summary(const struct perfdata_view *view, struct document *document)
{
    const struct recording *recording = view->recording;
    struct section *section =
        document_section(document, "summary", "Sampled accesses of a perf.data file", true);

    add_fact(document, section, "command", "recorded by", recording->command);
    add_fact(document, section, "host", "host", recording->host);
    add_fact(document, section, "processor", "processor", recording->processor);
    add_fact(document, section, "unit", "sampled by", recording->units);
    section_fact(section, "samples", "accesses", INTERVAL_NONE,
                 cell_value(CELL_COUNT, (double)view->count));
    add_left_out(recording, section);
    if (recording->file.cut)
        section_paragraph(document, section, NULL,
                          "The file is cut short: what stands before its end is shown.");
    section_table(section,
                  table_by(view, document, "sources", "Where the data came from",
                           "Counts of samples, as the processor reported them; latency in its "
                           "cycles. A unit that samples loads above a latency sees no others.",
                           source_columns, LEVEL_COUNT, level_of, level_text));
    section_table(section, table_by(view, document, "translations", "How addresses were translated",
                                    NULL, translation_columns, TRANSLATION_COUNT, translation_of,
                                    translation_text));
    section_paragraph(
        document, section, "notes",
        "perf.data holds sampled accesses, not when their data is used again: there "
        "are no reuse times, no miss-ratio curves and no advice on caches. For these, "
        "run the program under reuse-run.");
}
