/* SPDX-License-Identifier: BSD-3-Clause */
/* --histogram: how late data is used again, as reuse time and as stack distance. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"

enum { BAR = 36 };

static const struct column columns[] = {
    {.key = "lo"},
    {.key = "hi"},
    {.heading = "at least"},
    {.heading = "below"},
    {.heading = "accesses %", .key = "share", .interval = INTERVAL_SUFFIXED},
    {.heading = ""},
};

enum histogram_unit { UNIT_ACCESSES, UNIT_LINES };

static struct cell bound(struct document *document, const struct model *model, double value,
                         enum histogram_unit unit)
{
    struct cell cell;
    char *text;

    if (!isfinite(value))
        return cell_text(document, "never or beyond");
    if (unit == UNIT_ACCESSES)
        return cell_value(CELL_COUNT, value);
    text = number_bytes(value * analysis_line_size(model->analysis));
    cell = cell_text(document, text);
    free(text);
    return cell;
}

static void add_histogram(struct model *model, struct document *document, struct section *section,
                          const char *key, const char *title, const char *remark,
                          enum histogram_unit unit,
                          size_t (*histogram)(const struct analysis *, struct subset,
                                              struct histogram_share **))
{
    struct table *table = document_table(document, key, title, basis_text(model, document, ""),
                                         columns, sizeof(columns) / sizeof(*columns));
    struct histogram_share *bins = NULL;
    size_t count = histogram(model->analysis, model_whole(model), &bins);
    double most = 0;

    for (size_t i = 0; i < count; i++)
        most = fmax(most, bins[i].share.value);
    for (size_t i = 0; i < count; i++) {
        struct row *row = table_row(table);
        char bar[BAR + 1] = {0};

        memset(bar, '#', most > 0 ? (size_t)lround(BAR * fmin(1, bins[i].share.value / most)) : 0);
        row->cells[0] = cell_value(CELL_COUNT, bins[i].lo);
        row->cells[1] = isfinite(bins[i].hi) ? cell_value(CELL_COUNT, bins[i].hi) : cell_empty();
        row->cells[2] = bound(document, model, bins[i].lo, unit);
        row->cells[3] = bound(document, model, bins[i].hi, unit);
        row->cells[4] = cell_estimate(CELL_SHARE, bins[i].share);
        row->cells[5] = cell_text(document, bar);
    }
    free(bins);
    table_remark(document, table, remark);
    section_table(section, table);
}

void section_histogram(struct model *model, struct document *document)
{
    struct section *section =
        document_section(document, "histogram", "How late data is used again", true);
    char *remark;

    add_histogram(model, document, section, "histogram.reuse_time",
                  "Reuse time: accesses of the thread until it uses the line again",
                  "The last row holds what is never used again, and what was not seen again while "
                  "it was watched.",
                  UNIT_ACCESSES, analysis_reuse_time_histogram);
    remark = format_string("Bytes of %u-byte lines; a distance of d misses in every LRU cache of d "
                           "bytes or less. JSON and CSV count in lines.",
                           analysis_line_size(model->analysis));
    add_histogram(model, document, section, "histogram.stack_distance",
                  "Stack distance: other data used until the line is used again", remark,
                  UNIT_LINES, analysis_stack_distance_histogram);
    free(remark);
}
