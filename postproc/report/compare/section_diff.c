/* SPDX-License-Identifier: BSD-3-Clause */
/* --diff: what changed from one run to another. See compare.h. */
#include <math.h>
#include <stdlib.h>

#include "document/numbers.h"
#include "report/compare/answer.h"
#include "report/compare/compare.h"
#include "report/sections/section_support.h"

static const struct column figure_columns[] = {
    {.key = "what", .heading = "what"},
    {.key = "before", .heading = "before", .interval = INTERVAL_SUFFIXED},
    {.key = "after", .heading = "after", .interval = INTERVAL_SUFFIXED},
    {.heading = "change (95 % interval)"},
    {.key = "verdict", .heading = "verdict"},
    {.key = "change", .interval = INTERVAL_SUFFIXED},
    {.key = "relative", .interval = INTERVAL_SUFFIXED},
};
enum { CHANGE_CELLS = 6 }; /* from `before` on */

static const struct column subject_columns[] = {
    {.key = "name", .heading = "name", .flexible = true},
    {.heading = "before"},
    {.heading = "after"},
    {.heading = "change (95 % interval)"},
    {.key = "before", .interval = INTERVAL_SUFFIXED},
    {.key = "after", .interval = INTERVAL_SUFFIXED},
    {.heading = NULL},
    {.key = "verdict"},
    {.key = "change", .interval = INTERVAL_SUFFIXED},
    {.key = "relative", .interval = INTERVAL_SUFFIXED},
    {.key = "kind"},
    {.key = "seen_before"},
    {.key = "seen_after"},
    {.key = "levels"},
    {.key = "false_before", .interval = INTERVAL_SUFFIXED},
    {.key = "false_after", .interval = INTERVAL_SUFFIXED},
    {.key = "false_verdict"},
};
enum {
    NAME,
    BEFORE_TEXT,
    AFTER_TEXT,
    CHANGE_TEXT,
    CHANGE,
    KIND = CHANGE + CHANGE_CELLS,
    SEEN_BEFORE,
    SEEN_AFTER,
    LEVELS,
    MISS_COLUMNS,
    FALSE_BEFORE = MISS_COLUMNS,
    FALSE_AFTER,
    FALSE_VERDICT,
    TRANSFER_COLUMNS
};

static const struct column level_columns[] = {
    {.key = "level"},
    {.key = "before", .interval = INTERVAL_SUFFIXED},
    {.key = "after", .interval = INTERVAL_SUFFIXED},
    {.heading = "change"},
    {.key = "verdict"},
    {.key = "change", .interval = INTERVAL_SUFFIXED},
    {.key = "relative", .interval = INTERVAL_SUFFIXED},
};

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

/* A relative change: in percent, or as a factor where percents would be hard to read. */
static char *relative_text(double relative, bool as_factor)
{
    double percent = 100 * relative;

    if (as_factor)
        return format_string("x %.3g", relative + 1);
    if (fabs(percent) < 0.95)
        return format_string("%+.1g", percent);
    return format_string("%+.*f", fabs(percent) < 9.95 ? 1 : 0, percent);
}

/* Beyond this an upper end says no more than that it is not known. */
#define RELATIVE_MAX 9

/* What division leaves of an interval without a width. */
#define RELATIVE_ROUNDING 1e-6

/* "-90 % (-91 to -89)"; the caller frees it. */
static char *change_text(const struct change *change)
{
    const struct estimate *relative = &change->relative;
    bool as_factor = relative->value > RELATIVE_MAX;
    char *middle, *lo, *hi, *text;

    if (change->verdict == CHANGE_UNKNOWN)
        return copy_string("-");
    if (change->verdict == CHANGE_NONE)
        return copy_string("0 %");
    if (!isfinite(relative->value))
        return copy_string("from none");
    middle = relative_text(relative->value, as_factor);
    lo = relative_text(relative->lo, as_factor);
    hi = relative_text(relative->hi, as_factor);
    text = format_string("%s%s", middle, as_factor ? "" : " %");
    free(middle);
    middle = text;
    if (relative->hi - relative->lo < RELATIVE_ROUNDING)
        text = copy_string(middle);
    else if (!isfinite(relative->hi) || (!as_factor && relative->hi > RELATIVE_MAX))
        text = format_string("%s (%s or more)", middle, lo);
    else
        text = format_string("%s (%s to %s)", middle, lo, hi);
    free(hi);
    free(lo);
    free(middle);
    return text;
}

static struct cell figure_cell(enum cell_kind kind, const struct figure *figure)
{
    return figure->known ? cell_estimate(kind, figure->value) : cell_empty();
}

/* The six cells of a change. */
static void fill_change(struct document *document, struct cell *cells, enum cell_kind kind,
                        const struct change *change)
{
    bool known = change->verdict != CHANGE_UNKNOWN;
    char *text = change_text(change);

    cells[0] = figure_cell(kind, &change->before);
    cells[1] = figure_cell(kind, &change->after);
    cells[2] = cell_text(document, text);
    cells[3] = cell_text(document, change_word(change->verdict));
    cells[4] = known ? cell_estimate(kind, change->absolute) : cell_empty();
    cells[5] = known ? cell_estimate(CELL_SHARE, change->relative) : cell_empty();
    free(text);
}

/* The cells that text shows, and the others, of a subject. */
static void fill_subject(struct document *document, struct row *row, const char *name,
                         const char *kind, const struct change *change)
{
    char *text = change_text(change);

    row->cells[NAME] = cell_text(document, name);
    if (change->before.known)
        row->cells[BEFORE_TEXT] = cell_value(CELL_COUNT, change->before.value.value);
    if (change->after.known)
        row->cells[AFTER_TEXT] = cell_value(CELL_COUNT, change->after.value.value);
    row->cells[CHANGE_TEXT] =
        cell_text(document, change->verdict == CHANGE_NOT_SEEN || change->verdict == CHANGE_FEW
                                ? change_word(change->verdict)
                                : text);
    fill_change(document, row->cells + CHANGE, CELL_COUNT, change);
    row->cells[KIND] = cell_text(document, kind);
    free(text);
}

/* The table of totals, and the sentences that it amounts to. */
struct totals {
    struct document *document;
    struct table *table;
    struct answer answer;
    bool beyond; /* misses of a level are not known on one side or both */
};

static void add_figure(struct totals *totals, const char *what, enum cell_kind kind,
                       const struct figure *before, const struct figure *after)
{
    struct change change = change_between(*before, *after);
    struct row *row = table_row(totals->table);
    char *amount;

    row->cells[0] = cell_text(totals->document, what);
    fill_change(totals->document, row->cells + 1, kind, &change);
    amount = change_text(&change);
    answer_add(&totals->answer, what, &change, amount);
    free(amount);
}

/* What neither side can know is not a row. */
static void add_known_figure(struct totals *totals, const char *what, enum cell_kind kind,
                             const struct figure *before, const struct figure *after)
{
    if (before->known || after->known)
        add_figure(totals, what, kind, before, after);
}

/* Misses that are not known are what a reader looks for: they have their rows. */
static void add_level_figures(const struct comparison_side sides[SIDES], struct totals *totals)
{
    for (size_t i = 0; i < comparison_levels(sides); i++) {
        const struct figure *before = &sides[SIDE_BEFORE].figures.misses[i];
        const struct figure *after = &sides[SIDE_AFTER].figures.misses[i];
        char *what =
            format_string("%s misses", level_name(sides[SIDE_AFTER].model, totals->document, i));

        add_figure(totals, what, CELL_COUNT, before, after);
        totals->beyond |= !before->known || !after->known;
        free(what);
    }
}

/* Both sides count every access, of all lines or of a part of them. */
static bool follows_lines(const struct comparison_side sides[SIDES])
{
    return sides[SIDE_BEFORE].model->exact && sides[SIDE_AFTER].model->exact;
}

static bool is_exact(const struct comparison_side sides[SIDES])
{
    return follows_lines(sides) && sides[SIDE_BEFORE].model->line_rate == 1 &&
           sides[SIDE_AFTER].model->line_rate == 1;
}

/* The caller frees it. */
static char *totals_remark(struct comparison_side sides[SIDES], bool beyond)
{
    bool once = sides[SIDE_BEFORE].figures.cpu_ns.once || sides[SIDE_AFTER].figures.cpu_ns.once;

    return format_string(
        "none shown: no difference that these runs can show.%s%s",
        beyond ? " not known: a large part of the reuses is farther than was watched." : "",
        once ? " one run: how much the CPU time varies from run to run is not known; name several "
               "files on each side, as in --diff before.*.rprof : after.*.rprof."
             : "");
}

static void add_totals(struct comparison_side sides[SIDES], struct document *document,
                       struct section *section)
{
    const struct run_figures *before = &sides[SIDE_BEFORE].figures;
    const struct run_figures *after = &sides[SIDE_AFTER].figures;
    struct table *table = document_table(
        document, "diff.totals", "In all, per file of each side",
        is_exact(sides)
            ? "Exact: every access was counted; misses are modelled as of private LRU caches. "
              "CPU time is measured."
        : follows_lines(sides)
            ? "Estimated from all accesses to a part of the lines, without an interval; misses are "
              "modelled as of private LRU caches."
            : "Estimated, 95 % intervals; the two runs are independent. Misses are modelled as "
              "of private LRU caches. CPU time is measured.",
        COLUMNS(figure_columns));

    struct totals totals = {.document = document, .table = table};
    char *answer, *remark;

    add_known_figure(&totals, "CPU time", CELL_TIME, &before->cpu_ns, &after->cpu_ns);
    add_known_figure(&totals, "accesses", CELL_COUNT, &before->accesses, &after->accesses);
    add_level_figures(sides, &totals);
    add_known_figure(&totals, "transfers", CELL_COUNT, &before->transfers, &after->transfers);
    add_known_figure(&totals, "true sharing", CELL_COUNT, &before->true_sharing,
                     &after->true_sharing);
    add_known_figure(&totals, "false sharing", CELL_COUNT, &before->false_sharing,
                     &after->false_sharing);
    remark = totals_remark(sides, totals.beyond);
    table_remark(document, table, remark);
    free(remark);
    answer = answer_text(&totals.answer);
    if (*answer != '\0')
        section_paragraph(document, section, "diff.verdict", answer);
    free(answer);
    section_table(section, table);
}

static struct table *levels_of(struct comparison_side sides[SIDES], struct document *document,
                               const struct subject *subject)
{
    struct table *table = document_table(document, NULL, NULL, NULL, COLUMNS(level_columns));

    for (size_t i = 0; i < comparison_levels(sides); i++) {
        struct row *row = table_row(table);

        row->cells[0] = cell_value(CELL_NUMBER, sides[SIDE_AFTER].figures.level[i]);
        fill_change(document, row->cells + 1, CELL_COUNT, &subject->misses[i]);
    }
    return table;
}

/* Neither side has a miss there, or both have as many: not a row. */
static bool is_idle(const struct change *change)
{
    return change->verdict == CHANGE_NONE ||
           (change->verdict != CHANGE_UNKNOWN && !(change->before.value.value > 0) &&
            !(change->after.value.value > 0));
}

/* "2 lines are left out: ... "; empty if none is. The caller frees it. */
static char *left_out_text(struct comparison_side sides[SIDES], const struct subject_list *list)
{
    const char *newer = line_texts_newer(sides[SIDE_BEFORE].texts);

    if (newer == NULL)
        newer = line_texts_newer(sides[SIDE_AFTER].texts);
    return list->left_out > 0
               ? format_string("%zu line%s left out: %s was changed after the program that ran was "
                               "built, so their text is not known. The functions are compared. ",
                               list->left_out, list->left_out == 1 ? " is" : "s are",
                               newer != NULL ? newer : "their file")
               : copy_string("");
}

/* Below the table: what is not in it. */
static void add_remark(struct comparison_side sides[SIDES], const struct subject_list *list,
                       size_t folded, struct document *document, struct table *table)
{
    char *left_out = left_out_text(sides, list);
    char *text =
        format_string("%s%zu in all, %zu of them in both%s", left_out, list->all, list->matched,
                      folded > 0 ? "; changes below 0.1 % of all misses, or not known, "
                                   "are not shown."
                                 : ".");

    table_remark(document, table, text);
    free(text);
    free(left_out);
}

/* Part of all misses that a change must be to be shown. */
#define NEGLIGIBLE_SHARE 0.001

/* In text: too small a part of all misses to read about. */
static bool is_negligible(const struct comparison_side sides[SIDES], const struct subject *subject,
                          size_t level)
{
    const struct change *change = &subject->misses[level];
    double all = fmax(sides[SIDE_BEFORE].figures.misses[level].value.value,
                      sides[SIDE_AFTER].figures.misses[level].value.value);

    if (sides[SIDE_AFTER].model->options->format != FORMAT_TEXT)
        return false;
    return change->verdict == CHANGE_UNKNOWN ||
           fabs(change->absolute.value) < NEGLIGIBLE_SHARE * all;
}

static const char *subjects_basis(const struct comparison_side sides[SIDES])
{
    return is_exact(sides) ? "Exact, without coherence misses: these are counted for the run alone."
           : follows_lines(sides)
               ? "From a part of the lines, without coherence misses: these are counted for the "
                 "run alone."
               : NULL;
}

/* Text has no table without rows: one sentence stands for all of them. */
static void say_empty(struct comparison_side sides[SIDES], const char *empty,
                      struct document *document, struct section *section)
{
    size_t focus = comparison_focus(sides);
    bool known = sides[SIDE_BEFORE].figures.misses[focus].known &&
                 sides[SIDE_AFTER].figures.misses[focus].known;
    const char *level = level_name(sides[SIDE_AFTER].model, document, focus);
    char *text = known
                     ? format_string("%s misses by %s: no change of 0.1 %% of all misses or more "
                                     "is known.",
                                     level, empty)
                     : format_string("%s misses are not compared by %s: how many there are in all "
                                     "is not known on one side or both.",
                                     level, empty);

    section_paragraph(document, section, NULL, text);
    free(text);
}

/* Out of the text only: JSON and CSV have the table. */
static void leave_out(struct comparison_side sides[SIDES], const struct subject_list *list,
                      const char *what, struct document *document, struct section *section,
                      struct table *table, char **empty)
{
    char *left_out = left_out_text(sides, list);
    char *longer = *empty != NULL ? format_string("%s or %s", *empty, what) : copy_string(what);

    table->title = NULL;
    if (*left_out != '\0')
        section_paragraph(document, section, NULL, left_out);
    free(*empty);
    free(left_out);
    *empty = longer;
}

static void add_subjects(struct comparison_side sides[SIDES], enum subject_kind kind,
                         struct document *document, struct section *section, char **empty)
{
    static const struct {
        const char *key, *title, *brief;
    } tables[] = {
        [SUBJECT_OBJECT] = {"diff.objects", "data object", "data object"},
        [SUBJECT_LINE] = {"diff.lines", "source line (function: its text)", "source line"},
        [SUBJECT_FUNCTION] = {"diff.functions", "function", "function"}};
    struct model *after = sides[SIDE_AFTER].model;
    size_t focus = comparison_focus(sides), folded = 0;
    struct subject_list list = subjects_compare(sides, kind, after->options->top);
    char *title = format_string("%s misses by %s, the largest change first",
                                level_name(after, document, focus), tables[kind].title);
    struct table *table = document_table(document, tables[kind].key, title, subjects_basis(sides),
                                         subject_columns, MISS_COLUMNS);

    for (size_t i = 0; i < list.count; i++) {
        const struct subject *subject = &list.items[i];
        struct row *row;

        if (is_idle(&subject->misses[focus]))
            continue;
        if (is_negligible(sides, subject, focus)) {
            folded++;
            continue;
        }
        row = table_row(table);
        fill_subject(document, row, subject->name, subject->kind, &subject->misses[focus]);
        row->cells[SEEN_BEFORE] = cell_truth(subject->seen[SIDE_BEFORE]);
        row->cells[SEEN_AFTER] = cell_truth(subject->seen[SIDE_AFTER]);
        row->cells[LEVELS] = cell_table(levels_of(sides, document, subject));
    }
    if (table->rows.count > 0)
        add_remark(sides, &list, folded, document, table);
    else
        leave_out(sides, &list, tables[kind].brief, document, section, table, empty);
    section_table(section, table);
    subjects_free(&list);
    free(title);
}

static void add_moved(struct comparison_side sides[SIDES], struct document *document,
                      struct section *section)
{
    const struct run_figures *before = &sides[SIDE_BEFORE].figures;
    const struct run_figures *after = &sides[SIDE_AFTER].figures;
    struct moved_list list;
    struct table *table;

    if (!before->transfers.known || !after->transfers.known) {
        section_paragraph(document, section, "diff.sharing_unavailable",
                          !before->transfers.known ? before->why_no_transfers
                                                   : after->why_no_transfers);
        return;
    }
    list = moved_compare(sides, sides[SIDE_AFTER].model->options->top);
    table = document_table(document, "diff.transfers",
                           list.count > 0 ? "Transfers between threads by data object" : NULL, NULL,
                           subject_columns, TRANSFER_COLUMNS);
    for (size_t i = 0; i < list.count; i++) {
        const struct moved_object *object = &list.items[i];
        struct row *row;

        if (is_idle(&object->all))
            continue;
        row = table_row(table);
        fill_subject(document, row, object->name, object->kind, &object->all);
        row->cells[FALSE_BEFORE] = figure_cell(CELL_COUNT, &object->false_sharing.before);
        row->cells[FALSE_AFTER] = figure_cell(CELL_COUNT, &object->false_sharing.after);
        row->cells[FALSE_VERDICT] = cell_text(document, change_word(object->false_sharing.verdict));
    }
    if (list.count > 0 && table->rows.count == 0)
        table_remark(document, table, "Nothing changed, and nothing is new.");
    section_table(section, table);
    moved_free(&list);
}

void section_diff(struct comparison_side sides[SIDES], struct document *document)
{
    static const enum subject_kind kinds[] = {SUBJECT_OBJECT, SUBJECT_FUNCTION, SUBJECT_LINE};
    struct section *section = document_section(document, "diff", "What changed", true);
    char *empty = NULL;

    add_compared_runs(sides, document, section);
    add_totals(sides, document, section);
    for (size_t side = 0; side < SIDES; side++)
        if (!model_splits(sides[side].model)) {
            section_paragraph(document, section, "diff.notes",
                              "Lines and objects of this region were not counted.");
            return;
        }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        add_subjects(sides, kinds[i], document, section, &empty);
    if (empty != NULL)
        say_empty(sides, empty, document, section);
    free(empty);
    add_moved(sides, document, section);
}
