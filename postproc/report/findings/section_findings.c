/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings as a table and facts, and as the first screen. */
#include <ctype.h>
#include <stdlib.h>

#include "report/findings/finding_text.h"
#include "report/findings/findings.h"
#include "report/findings/findings_screen.h"
#include "report/findings/nothing_found.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"

static const struct column columns[] = {
    {.key = "pattern"},
    {.key = "certain"},
    {.key = "time_share", .interval = INTERVAL_SUFFIXED},
    {.key = "gain", .interval = INTERVAL_SUFFIXED},
    {.key = "file"},
    {.key = "line"},
    {.key = "function"},
    {.key = "lines"},
    {.key = "object"},
    {.key = "objects"},
    {.key = "bursts"},
    {.key = "why"},
    {.key = "remedy"},
    {.key = "check"},
    {.key = "longer"},
    {.key = "belief"},
    {.key = "alternative"},
    {.key = "title"},
    {.key = "where"},
    {.key = "advised"},
};
enum {
    PATTERN,
    CERTAIN,
    TIME,
    GAIN,
    FILE_NAME,
    LINE,
    FUNCTION,
    LINES,
    OBJECT,
    OBJECTS,
    BURSTS,
    WHY,
    REMEDY,
    CHECK,
    LONGER,
    BELIEF,
    ALTERNATIVE,
    TITLE,
    WHERE,
    ADVISED
};

static const struct column line_columns[] = {{.key = "file"}, {.key = "line"}, {.key = "function"}};
static const struct column object_columns[] = {{.key = "name"}};

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

static struct table *lines_table(struct document *document, const struct finding *finding)
{
    struct table *table = document_table(document, NULL, NULL, NULL, COLUMNS(line_columns));

    for (size_t i = 0; i < finding->line_count; i++) {
        struct row *row = table_row(table);

        row->cells[0] = cell_text(document, finding->lines[i].file);
        if (finding->lines[i].line > 0)
            row->cells[1] = cell_value(CELL_NUMBER, finding->lines[i].line);
        row->cells[2] = cell_text(document, finding->lines[i].function);
    }
    return table;
}

static struct table *objects_table(struct document *document, const struct finding *finding)
{
    struct table *table = document_table(document, NULL, NULL, NULL, COLUMNS(object_columns));

    for (size_t i = 0; i < finding->object_count; i++)
        table_row(table)->cells[0] = cell_text(document, finding->objects[i]);
    return table;
}

static void add_row(struct model *model, struct document *document, struct table *table,
                    const struct findings *findings, size_t i, const char *time_word)
{
    const struct finding *finding = &findings->items.items[i];
    const bool first = i == findings_first_of_accesses(findings);
    struct row *row = table_row(table);
    const bool advised = finding_is_advised(finding, first);
    char *title = advised || !first ? finding_title_text(finding, time_word)
                                    : finding_candidate_text(finding, i > 0, time_word);
    char *where = finding_where_text(model, finding);

    row->cells[PATTERN] = cell_text(document, pattern_names[finding->pattern]);
    row->cells[CERTAIN] = cell_truth(finding_is_certain(finding));
    row->cells[BELIEF] = cell_text(document, belief_names[finding->verdict.belief]);
    if (finding->verdict.belief == BELIEF_EITHER)
        row->cells[ALTERNATIVE] = cell_text(document, pattern_names[finding->verdict.other]);
    row->cells[TIME] = cell_estimate(CELL_SHARE, finding->time);
    row->cells[GAIN] = cell_estimate(CELL_SHARE, finding->gain);
    if (finding->line_count > 0) {
        row->cells[FILE_NAME] = cell_text(document, finding->lines[0].file);
        if (finding->lines[0].line > 0)
            row->cells[LINE] = cell_value(CELL_NUMBER, finding->lines[0].line);
        row->cells[FUNCTION] = cell_text(document, finding->lines[0].function);
    }
    row->cells[LINES] = cell_table(lines_table(document, finding));
    if (finding->object_count > 0)
        row->cells[OBJECT] = cell_text(document, finding->objects[0]);
    row->cells[OBJECTS] = cell_table(objects_table(document, finding));
    if (finding->bursts > 0)
        row->cells[BURSTS] = cell_value(CELL_COUNT, (double)finding->bursts);
    row->cells[WHY] = cell_text(document, finding->reason);
    row->cells[REMEDY] = cell_text(document, finding->remedy);
    row->cells[CHECK] = cell_text(document, finding->check);
    if (finding->longer > 1)
        row->cells[LONGER] = cell_value(CELL_FACTOR, finding->longer);
    row->cells[TITLE] = cell_text(document, title);
    row->cells[WHERE] = cell_text(document, where);
    row->cells[ADVISED] = cell_truth(advised);
    free(where);
    free(title);
}

/* Of the program's accesses, where nothing was found in them; NULL: something was. The caller frees
 * it. */
static char *conclusion_of(struct model *model, const struct findings *findings,
                           const char *time_word)
{
    char *text, *beside;

    if (findings_first_of_accesses(findings) < findings->items.count)
        return NULL;
    text = nothing_found_text(model, findings, time_word);
    if (findings->items.count == 0)
        return text;
    beside = format_string("Beside that: %c%s", tolower((unsigned char)*text), text + 1);
    free(text);
    return beside;
}

void section_findings(struct model *model, struct document *document, bool shown)
{
    struct section *section = document_section(document, "findings", "Findings", shown);
    const struct findings *findings = findings_of(model);
    struct table *table = document_table(document, "findings", NULL, NULL, COLUMNS(columns));
    const char *time_word = findings->timed ? "CPU time" : "modelled time";
    char *conclusion = conclusion_of(model, findings, time_word);
    char *latencies = access_costs_text(&findings->costs, &model->machine);
    struct paragraph screen = {.text = NULL};

    for (size_t i = 0; i < findings->items.count; i++)
        add_row(model, document, table, findings, i, time_word);
    section_table(section, table);
    section_fact(section, "time.memory", NULL, INTERVAL_OBJECT,
                 cell_estimate(CELL_SHARE, findings->memory));
    section_fact(section, "time.hottest", NULL, INTERVAL_NONE,
                 cell_text(document, findings->hot.function));
    section_fact(section, "time.measured", NULL, INTERVAL_NONE, cell_truth(findings->timed));
    section_fact(section, "time.latencies", NULL, INTERVAL_NONE, cell_text(document, latencies));
    section_fact(section, "observed.sharing", NULL, INTERVAL_NONE,
                 cell_truth(!findings->sight.misses_sharing));
    section_fact(section, "observed.sharing_modelled", NULL, INTERVAL_NONE,
                 cell_truth(findings->sight.models_sharing));
    section_fact(section, "observed.long_uses", NULL, INTERVAL_NONE,
                 cell_truth(!findings->sight.misses_long_uses));
    section_fact(section, "conclusion", NULL, INTERVAL_NONE, cell_text(document, conclusion));
    findings_screen_put(model, findings, time_word, conclusion, &screen);
    section_verbatim_toned(document, section, screen.text, screen.tones.items, screen.lines);
    paragraph_free(&screen);
    free(latencies);
    free(conclusion);
}
