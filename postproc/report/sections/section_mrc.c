/* SPDX-License-Identifier: BSD-3-Clause */
/* --mrc: misses as a function of cache size, with the machine's caches marked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/model/coherence.h"
#include "report/model/shared_caches.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"

enum { BAR = 34 };

/* '#' up to the lower end of the interval, '+' up to its upper end. */
static char *bar_of(const struct curve_point *point, double full)
{
    char *bar = allocate_zeroed(BAR + 1, 1);
    double unit = full > 0 ? BAR / full : 0;
    int low = (int)lround(point->miss_ratio.lo * unit);
    int high = (int)lround(point->miss_ratio.hi * unit);

    for (int i = 0; i < BAR; i++)
        bar[i] = i < low ? '#' : i < high ? '+' : ' ';
    for (int i = BAR; i > 0 && bar[i - 1] == ' '; i--)
        bar[i - 1] = '\0';
    return bar;
}

/* A round number of percent that the whole curve stays below. */
static double full_scale(const struct model *model, const struct curve_chart *chart)
{
    static const double scales[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
    double most = 0;

    for (size_t i = 0; i < model->size_count; i++)
        most = fmax(most, chart->whole[i].miss_ratio.value);
    for (size_t i = 0; i < sizeof(scales) / sizeof(*scales); i++)
        if (most <= scales[i])
            return scales[i];
    return 1;
}

/* truth: NULL where it is not known. */
static void add_curve_row(struct document *document, struct table *table,
                          const struct curve_point *point, const struct curve_point *truth,
                          double full, const char *mark)
{
    struct row *row = table_row(table);
    size_t next = 2;
    char *bar = bar_of(point, full);

    row->cells[0] = cell_value(CELL_BYTES, point->bytes);
    row->cells[1] = point->beyond ? cell_share_between(point->miss_ratio)
                                  : cell_estimate(CELL_SHARE, point->miss_ratio);
    if (truth != NULL)
        row->cells[next++] = cell_value(CELL_SHARE, truth->miss_ratio.value);
    row->cells[next++] = cell_text(document, mark);
    row->cells[next] = row->cells[1].kind == CELL_BEYOND ? cell_empty() : cell_text(document, bar);
    free(bar);
}

static void add_level_row(const struct model *model, struct document *document, struct table *table,
                          const struct curve_chart *chart, size_t level, double full)
{
    size_t size = model->level_size[level];

    add_curve_row(document, table, &chart->whole[size],
                  chart->true_whole != NULL ? &chart->true_whole[size] : NULL, full,
                  level_name(model, document, level));
}

struct table *curve_chart(const struct model *model, struct document *document,
                          const struct curve_chart *chart)
{
    double full = full_scale(model, chart);
    char *scale = format_string("0 .. %.0f %%\n", 100 * full);
    struct column *columns = document_columns(document, 5);
    size_t level = chart->first_level, end = chart->first_level + chart->levels, next = 2;
    struct table *table;

    columns[0].heading = "cache\n";
    columns[1].heading = "misses\n%";
    columns[1].heat = true;
    if (chart->true_whole != NULL)
        columns[next++].heading = "truth\n%";
    columns[next++].heading = "\n";
    columns[next++].heading = document_string(document, scale);
    free(scale);
    table = document_table(document, NULL, chart->title, chart->basis, columns, next);
    for (size_t i = 0; i < MODEL_OCTAVES; i++) {
        const char *mark = "";

        for (; level < end && (double)model->machine.caches[level].bytes <= chart->octaves[i].bytes;
             level++) {
            if ((double)model->machine.caches[level].bytes == chart->octaves[i].bytes)
                mark = level_name(model, document, level);
            else
                add_level_row(model, document, table, chart, level, full);
        }
        add_curve_row(document, table, &chart->octaves[i],
                      chart->true_octaves != NULL ? &chart->true_octaves[i] : NULL, full, mark);
    }
    for (; level < end; level++)
        add_level_row(model, document, table, chart, level, full);
    return table;
}

void section_mrc(struct model *model, struct document *document)
{
    struct curve_point whole[MODEL_SIZES_MAX], octaves[MODEL_OCTAVES];
    struct section *section = document_section(document, "mrc", "Miss ratio by cache size", true);
    bool truth = model->has_truth;
    struct curve_chart chart = {
        .title = "Misses per access of a fully associative LRU cache",
        .basis = basis_text(model, document, ""),
        .levels = model->machine.levels,
        .whole = whole,
        .octaves = octaves,
        .true_whole = truth ? model->true_whole : NULL,
        .true_octaves = truth ? model->true_octaves : NULL,
    };
    struct table *table;
    char *remark;

    memcpy(whole, model->whole, sizeof(whole));
    memcpy(octaves, model->octaves, sizeof(octaves));
    coherence_add(model, whole, model->size_count);
    coherence_add(model, octaves, MODEL_OCTAVES);
    table = curve_chart(model, document, &chart);
    remark = format_string("%sEach thread as if it had such a cache alone; %u-byte lines. "
                           "\"beyond\" and ranges: farther than was watched.",
                           truth ? "truth: of counting every access of the same run. " : "",
                           analysis_line_size(model->analysis));

    table_remark(document, table, remark);
    free(remark);
    table->bars = "In the bar # reaches the lower end of the interval, + the upper one.";
    section_table(section, table);
    section_table(section, curve_table(model, document, "mrc", whole, chart.true_whole));
    add_shared_curves(model, document, section);
}
