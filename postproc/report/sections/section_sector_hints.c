/* SPDX-License-Identifier: BSD-3-Clause */
/* --sector-hints: which data to isolate in the sector cache, what it saves, and what to type. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"
#include "report/sectors/sector_advice.h"
#include "report/sectors/sector_conclusion.h"
#include "report/sectors/sector_groups.h"

static const char *const verdict_words[] = {
    [SECTOR_ISOLATE] = "isolate",
    [SECTOR_NOTHING_TO_GAIN] = "nothing to gain",
    [SECTOR_BEYOND] = "not known: farther than was watched",
};

static const char *const basis_words[] = {
    [SECTOR_SAMPLED] = "estimated",
    [SECTOR_EXACT] = "exact",
    [SECTOR_MODELLED] = "modelled",
    [SECTOR_UNKNOWN] = "unknown",
};

/* The names are those of the table in the study that the method comes from (LMU Munich 2022). */
static const struct column columns[] = {
    {.key = "region", .heading = "region\n", .flexible = true},
    {.key = "data_struct", .heading = "data\nstruct", .flexible = true},
    {.key = "cache_level", .heading = "cache\nlevel"},
    {.key = "nways", .heading = "nways\n"},
    {.key = "misses_sc", .heading = "misses sc\n", .interval = INTERVAL_SUFFIXED},
    {.key = "misses_nosc", .heading = "misses nosc\n"},
    {.key = "reduction_pct", .interval = INTERVAL_BARE},
    {.heading = "reduction\n[%]"},
    {.heading = "n-1\n[%]", .optional = true},
    {.heading = "n+1\n[%]", .optional = true},
    {.key = "verdict"},
    {.key = "basis"},
    {.key = "pragma"},
    {.key = "place"},
    {.key = "neighbours"},
};
enum {
    REGION,
    STRUCTURE,
    LEVEL,
    WAYS,
    MISSES,
    UNDIVIDED,
    REDUCTION,
    SHOWN,
    FEWER,
    MORE,
    VERDICT,
    BASIS,
    PRAGMA,
    PLACE,
    NEIGHBOURS
};

static const struct column neighbour_columns[] = {
    {.key = "nways"},
    {.key = "misses_sc"},
    {.key = "reduction_pct", .interval = INTERVAL_BARE},
};

static struct estimate times(struct estimate estimate, double factor)
{
    return (struct estimate){estimate.value * factor, estimate.lo * factor, estimate.hi * factor};
}

/* Exact misses are shown to the last one, as in the table that they are compared with. */
static struct cell misses_cell(const struct sector_hints *hints, struct estimate misses)
{
    if (hints->model->exact)
        return cell_value(CELL_NUMBER, misses.value);
    return cell_estimate(CELL_COUNT, misses);
}

static void add_neighbour(struct table *table, unsigned ways, const struct sector_outcome *outcome,
                          double accesses)
{
    struct row *row = table_row(table);

    row->cells[0] = cell_value(CELL_NUMBER, ways);
    row->cells[1] = cell_value(CELL_NUMBER, outcome->misses.value * accesses);
    row->cells[2] = cell_estimate(CELL_NUMBER, times(outcome->reduction, 100));
}

static void fill_advice(const struct sector_hints *hints, struct document *document,
                        struct row *row, const struct sector_row *from)
{
    struct sector_advice advice = sector_advise(hints, from);
    char *directives = sector_directives(hints, &advice), *place = sector_place(hints, &advice);

    row->cells[PRAGMA] = cell_text(document, directives);
    row->cells[PLACE] = cell_text(document, place);
    free(directives);
    free(place);
}

static void add_row(const struct sector_hints *hints, struct document *document,
                    struct table *table, const struct sector_row *from)
{
    double accesses = sector_region_accesses(hints, from->region);
    struct row *row = table_row(table);
    char *names = sector_names(hints, from->isolated);
    struct table *neighbours =
        document_table(document, NULL, NULL, NULL, neighbour_columns,
                       sizeof(neighbour_columns) / sizeof(*neighbour_columns));
    char *detail = format_string("%s (%s)", verdict_words[from->verdict], basis_words[from->basis]);

    row->cells[REGION] = cell_text(document, hints->regions.items[from->region].name);
    row->cells[STRUCTURE] = cell_text(document, names);
    row->cells[LEVEL] = cell_value(CELL_NUMBER, hints->model->machine.caches[from->level].level);
    row->cells[WAYS] = cell_value(CELL_NUMBER, from->ways);
    row->cells[MISSES] = misses_cell(hints, times(from->outcome.misses, accesses));
    row->cells[UNDIVIDED] = hints->model->exact
                                ? cell_value(CELL_NUMBER, from->undivided * accesses)
                                : cell_value(CELL_COUNT, from->undivided * accesses);
    row->cells[REDUCTION] = cell_estimate(CELL_NUMBER, times(from->outcome.reduction, 100));
    row->cells[SHOWN] = cell_estimate(CELL_SHARE, from->outcome.reduction);
    if (from->has_fewer) {
        row->cells[FEWER] = cell_value(CELL_SHARE, from->fewer.reduction.value);
        add_neighbour(neighbours, from->ways - 1, &from->fewer, accesses);
    }
    if (from->has_more) {
        row->cells[MORE] = cell_value(CELL_SHARE, from->more.reduction.value);
        add_neighbour(neighbours, from->ways + 1, &from->more, accesses);
    }
    row->cells[VERDICT] = cell_text(document, verdict_words[from->verdict]);
    row->cells[BASIS] = cell_text(document, basis_words[from->basis]);
    if (from->verdict == SECTOR_ISOLATE)
        fill_advice(hints, document, row, from);
    row->cells[NEIGHBOURS] = cell_table(neighbours);
    row_prose(document, row, detail);
    free(detail);
    free(names);
}

static void add_table(const struct sector_hints *hints, struct document *document,
                      struct section *section)
{
    char *title =
        format_string("Best division of each level (%s, %u-byte lines)", hints->model->machine.name,
                      analysis_line_size(hints->model->analysis));
    struct table *table =
        document_table(document, "sector_hints", title,
                       basis_text(hints->model, document,
                                  "; modelled as two fully associative LRU parts of so many ways"),
                       columns, sizeof(columns) / sizeof(*columns));

    free(title);
    for (size_t i = 0; i < hints->rows.count; i++)
        add_row(hints, document, table, &hints->rows.items[i]);
    table_remark(document, table,
                 "sc: with the data in nways ways of its own, nosc: with an undivided cache; n-1, "
                 "n+1: reduction with one way less or more.");
    section_table(section, table);
}

static void add_warnings(const struct sector_hints *hints, struct document *document,
                         struct section *section)
{
    for (size_t i = 0; i < hints->warnings.count; i++) {
        const struct sector_warning *warning = &hints->warnings.items[i];
        const char *name = hints->model->objects.items[hints->structures[warning->structure]].name;
        unsigned level = hints->model->machine.caches[warning->level].level;
        char *text = format_string(
            "Do not isolate %s in %u way%s of L%u (%s): %.2f times the misses, "
            "for what is used again does not fit; it takes %u.",
            name, warning->ways, warning->ways == 1 ? "" : "s or fewer", level,
            hints->regions.items[warning->region].name, warning->factor, warning->enough);

        section_paragraph(document, section, "sector_warnings", text);
        free(text);
    }
}

/* Takes over text; NULL: there is nothing to say. */
static void add_note(struct document *document, struct section *section, const char *key,
                     char *text)
{
    if (text != NULL)
        section_paragraph(document, section, key, text);
    free(text);
}

static void add_conclusion(const struct sector_hints *hints, struct document *document,
                           struct section *section)
{
    add_note(document, section, NULL, sector_nothing_to_gain(hints));
    for (size_t i = 0; i < hints->model->machine.levels; i++) {
        add_note(document, section, "sector_notes", sector_not_known(hints, i));
        add_note(document, section, "sector_notes", sector_left_open(hints, i));
    }
}

static void add_counting_command(const struct sector_hints *hints, struct document *document,
                                 struct section *section)
{
    char *command = sector_counting_command(hints);

    if (command == NULL)
        return;
    section_paragraph(
        document, section, NULL,
        hints->model->exact
            ? "Rows that are modelled can be counted, in a run of the same program file:"
            : "What the bursts do not tell can be counted, at tens of times the run time:");
    section_verbatim(document, section, "sector_counting", command);
    free(command);
}

static void add_losses(const struct sector_hints *hints, struct document *document,
                       struct section *section, const struct sector_advice *advice)
{
    for (size_t i = 0; i < hints->model->machine.levels; i++) {
        unsigned level = hints->model->machine.caches[i].level;
        char *text;

        if (advice->loss[i] <= 0)
            continue;
        text = advice->ways[i] == 0 ? format_string("L%u stays undivided: it would lose %.1f %%.",
                                                    level, 100 * advice->loss[i])
                                    : format_string("L%u loses %.1f %% by it, at best.", level,
                                                    100 * advice->loss[i]);
        section_paragraph(document, section, NULL, text);
        free(text);
    }
}

static void add_advice(const struct sector_hints *hints, struct document *document,
                       struct section *section, const struct sector_row *row)
{
    struct sector_advice advice = sector_advise(hints, row);
    char *place = sector_place(hints, &advice), *names = sector_names(hints, advice.isolated);
    char *title = format_string("Isolate %s: %s", names, place);
    char *directives = sector_directives(hints, &advice);
    char *environment = sector_environment(hints, &advice);
    char *calls = sector_library_calls(hints, &advice);
    char *unknown = sector_unknown_names(hints, &advice);

    section_paragraph(document, section, NULL, title);
    section_verbatim(document, section, NULL, directives);
    add_losses(hints, document, section, &advice);
    if (unknown != NULL) {
        char *text = format_string("Name it as %s does: %s is how the data is called where it was "
                                   "allocated; of a structure's member make a pointer first.",
                                   hints->regions.items[advice.region].name, unknown);
        section_paragraph(document, section, NULL, text);
        free(text);
    }
    section_paragraph(document, section, NULL, "Environment:");
    section_verbatim(document, section, NULL, environment);
    section_paragraph(document, section, NULL,
                      "Other compilers, with the a64fx_hpc kernel module and library (FX700):");
    section_verbatim(document, section, NULL, calls);
    free(unknown);
    free(calls);
    free(environment);
    free(directives);
    free(title);
    free(names);
    free(place);
}

/* Which row of a region decides: that of the outer level, which saves memory traffic, if it gains.
 */
static const struct sector_row *deciding_row(const struct sector_hints *hints, size_t region)
{
    const struct sector_row *found = NULL;

    for (size_t i = 0; i < hints->rows.count; i++)
        if (hints->rows.items[i].region == region && hints->rows.items[i].verdict == SECTOR_ISOLATE)
            found = &hints->rows.items[i];
    return found;
}

/* Advice for each place once: that of a function goes before that of the whole. */
static bool add_all_advice(const struct sector_hints *hints, struct document *document,
                           struct section *section)
{
    bool given[SECTOR_REGIONS_MAX] = {false}, any = false;

    for (size_t r = hints->regions.count; r-- > 0;) {
        const struct sector_row *row = deciding_row(hints, r);
        size_t place;

        if (row == NULL)
            continue;
        place = sector_advise(hints, row).region;
        if (given[place])
            continue;
        given[place] = any = true;
        add_advice(hints, document, section, row);
    }
    return any;
}

static void add_conditions(struct document *document, struct section *section)
{
    section_paragraph(document, section, NULL, "On the machine:");
    section_verbatim(document, section, NULL, sector_verification);
    for (size_t i = 0; sector_preconditions[i] != NULL; i++)
        section_paragraph(document, section, "sector_preconditions", sector_preconditions[i]);
}

/* "global" or "isolate m". */
static char *scenario_name(const struct sector_hints *hints, uint64_t isolated)
{
    char *names = sector_names(hints, isolated);
    char *text = isolated == 0 ? copy_string("global") : format_string("isolate %s", names);

    free(names);
    return text;
}

static const struct column bin_columns[] = {
    {.key = "lo"}, {.key = "hi"}, {.key = "isolated"}, {.key = "others"}};
static const struct column histogram_columns[] = {
    {.key = "region"}, {.key = "scenario"}, {.key = "bins"}};

/* For JSON: region, scenario, bins. */
static void add_histogram_data(const struct sector_hints *hints, struct document *document,
                               struct section *section)
{
    struct table *table =
        document_table(document, "sector_histograms", NULL, NULL, histogram_columns, 3);

    for (size_t i = 0; i < hints->histograms.count; i++) {
        const struct sector_histogram *histogram = &hints->histograms.items[i];
        struct table *bins = document_table(document, NULL, NULL, NULL, bin_columns, 4);
        char *scenario = scenario_name(hints, histogram->isolated);
        struct row *row;

        for (size_t b = 0; b <= hints->bins; b++) {
            row = table_row(bins);
            row->cells[0] = isfinite(hints->bounds[b]) ? cell_value(CELL_NUMBER, hints->bounds[b])
                                                       : cell_empty();
            row->cells[1] = b < hints->bins && isfinite(hints->bounds[b + 1])
                                ? cell_value(CELL_NUMBER, hints->bounds[b + 1])
                                : cell_empty();
            row->cells[2] = cell_value(CELL_SHARE, histogram->share[b][SECTOR_ISOLATED]);
            row->cells[3] = cell_value(CELL_SHARE, histogram->share[b][SECTOR_REST]);
        }
        row = table_row(table);
        row->cells[0] = cell_text(document, hints->regions.items[histogram->region].name);
        row->cells[1] = cell_text(document, scenario);
        row->cells[2] = cell_table(bins);
        free(scenario);
    }
    section_table(section, table);
}

/* Shares of accesses with a distance; what is below one way of the innermost level hits anyway. */
static void add_histogram_table(const struct sector_hints *hints, struct document *document,
                                struct section *section, size_t region)
{
    const struct sector_histogram *grid[8];
    size_t n = 0, first = 1;

    for (size_t i = 0; i < hints->histograms.count && n < sizeof(grid) / sizeof(*grid); i++)
        if (hints->histograms.items[i].region == region)
            grid[n++] = &hints->histograms.items[i];
    if (n == 0)
        return;
    struct column *columns_of = document_columns(document, 1 + 2 * n);
    char *title = format_string("Stack distances in %s, %% of its accesses",
                                hints->regions.items[region].name);
    struct table *table = document_table(document, NULL, title, NULL, columns_of, 1 + 2 * n);
    free(title);
    columns_of[0].heading = "at least\n";
    for (size_t i = 0; i < n; i++) {
        char *scenario = scenario_name(hints, grid[i]->isolated);
        char *names = sector_names(hints, grid[i]->isolated);
        char *own = format_string("%s\n%s", scenario, names);
        if (grid[i]->isolated != 0)
            columns_of[1 + 2 * i].heading = document_string(document, own);
        columns_of[2 + 2 * i].heading =
            grid[i]->isolated != 0 ? "\nothers" : document_string(document, "global\nall");
        columns_of[1 + 2 * i].optional = columns_of[2 + 2 * i].optional = i > 1;
        free(own);
        free(names);
        free(scenario);
    }
    while (first < hints->bins && hints->bounds[first] < 8)
        first++;
    for (size_t b = first; b <= hints->bins; b++) {
        struct row *row;
        double most = 0;
        char *size;

        for (size_t i = 0; i < n; i++)
            most = fmax(most, fmax(grid[i]->share[b][0], grid[i]->share[b][1]));
        if (most < 0.00005 && b < hints->bins)
            continue;
        size = isfinite(hints->bounds[b])
                   ? number_bytes(hints->bounds[b] * analysis_line_size(hints->model->analysis))
                   : copy_string(hints->model->exact ? "never" : "not seen");
        row = table_row(table);
        row->cells[0] = cell_text(document, size);
        for (size_t i = 0; i < n; i++) {
            row->cells[1 + 2 * i] = cell_value(CELL_SHARE, grid[i]->share[b][SECTOR_ISOLATED]);
            row->cells[2 + 2 * i] = cell_value(CELL_SHARE, grid[i]->share[b][SECTOR_REST]);
        }
        free(size);
    }
    section_table(section, table);
}

void section_sector_hints(struct model *model, struct document *document)
{
    struct section *section =
        document_section(document, "sector-hints", "Sector cache hints", true);
    char message[512];
    struct sector_hints *hints = sector_hints_create(model, message, sizeof(message));

    if (hints == NULL) {
        model->failure = copy_string(message);
        return;
    }
    add_table(hints, document, section);
    if (hints->threads > 1.5) {
        char *text = format_string("Levels that cores share are divided between %.3g threads, as "
                                   "many as run and share one; what they have in common counts "
                                   "for each of them.",
                                   hints->threads);
        section_paragraph(document, section, NULL, text);
        free(text);
    }
    if (line_size_text(model, document) != NULL)
        section_paragraph(document, section, "sector_notes", line_size_text(model, document));
    add_note(document, section, "sector_notes", sector_no_contexts(hints));
    add_warnings(hints, document, section);
    add_conclusion(hints, document, section);
    add_counting_command(hints, document, section);
    if (add_all_advice(hints, document, section))
        add_conditions(document, section);
    for (size_t r = 0; r < hints->regions.count; r++)
        add_histogram_table(hints, document, section, r);
    add_histogram_data(hints, document, section);
    sector_hints_free(hints);
}
