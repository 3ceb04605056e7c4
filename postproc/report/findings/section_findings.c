/* SPDX-License-Identifier: BSD-3-Clause */
/* The first screen: findings before anything else, in at most 24 lines of 80 columns. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/findings/findings.h"
#include "report/findings/paragraph.h"
#include "report/model/next_uses.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"

/* Where misses may take a third of the time, not even "probably nothing to gain" is known. */
#define UNDECIDED 0.33

enum { SCREEN = 24, LINES_BELOW = 6, SHOWN_MAX = 4 };

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
    WHERE
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

/* "40 to 72 %"; the caller frees it. */
static char *range(struct estimate share)
{
    double lo = round(100 * share.lo), hi = round(100 * share.hi);

    return lo < hi ? format_string("%.0f to %.0f %%", lo, hi) : format_string("%.0f %%", hi);
}

static const char *what_of(enum pattern pattern)
{
    static const char *const words[PATTERN_COUNT] = {
        [PATTERN_PASSES] = "Loops pass over the same data one after the other",
        [PATTERN_ACROSS_LINES] = "The inner loop goes across cache lines",
        [PATTERN_TOO_LARGE] = "Data comes back after more than a cache holds",
        [PATTERN_FEW_MEMBERS] = "Little is used of each structure",
        [PATTERN_LINKED] = "From node to node, each somewhere in memory",
        [PATTERN_INDEXED] = "Indexes lead anywhere in an array",
        [PATTERN_ANYWHERE] = "Random access to a large block",
        [PATTERN_FALSE_SHARING] = "False sharing: threads use one cache line",
        [PATTERN_TRUE_SHARING] = "True sharing: threads write the same data",
        [PATTERN_ALLOCATOR] = "Time goes into allocating and freeing blocks",
        [PATTERN_GROWTH] = "A container grows again and again",
    };

    return words[pattern];
}

/* "a.c:17 or 21 in f, on x (heap, 32 MiB)"; the caller frees it. */
static char *where_text(struct model *model, const struct finding *finding)
{
    char *text, *longer;

    if (finding->line_count == 0)
        text = copy_string("somewhere in the program");
    else
        text = copy_string(code_line_text(model, &finding->lines[0]));
    for (size_t i = 1; i < finding->line_count; i++) {
        bool same_file =
            finding->lines[i].file == finding->lines[0].file && finding->lines[i].line > 0;
        const char *word = i == 1 && finding->either && finding->pattern != PATTERN_PASSES &&
                                   finding->line_count == 2
                               ? " or "
                               : ", ";

        longer = same_file ? format_string("%s%s%u", text, word, finding->lines[i].line)
                           : format_string("%s%s%s", text, word,
                                           code_line_text(model, &finding->lines[i]));
        free(text);
        text = longer;
    }
    if (finding->line_count > 0 && finding->lines[0].file != NULL) {
        longer = format_string("%s in %s", text, finding->lines[0].function);
        free(text);
        text = longer;
    }
    if (finding->spread > 0) {
        longer = format_string("%s and %zu other place%s of little weight each", text,
                               finding->spread, finding->spread == 1 ? "" : "s");
        free(text);
        text = longer;
    }
    for (size_t i = 0; i < finding->object_count; i++) {
        longer = format_string("%s%s%s", text, i == 0 ? ", on " : " and ", finding->objects[i]);
        free(text);
        text = longer;
    }
    if (finding->object_count == 1 && finding->object_bytes > 0) {
        char *size = number_bytes(finding->object_bytes);

        longer = format_string("%s (%s, %s)", text, finding->object_kind, size);
        free(size);
        free(text);
        text = longer;
    }
    return text;
}

static bool is_certain(const struct finding *finding)
{
    return finding->weight == FINDING_CLEAR && finding->verdict.belief == BELIEF_CERTAIN;
}

/* "Little is used of each structure, or random access to a large block"; the caller frees it. */
static char *believed_text(const struct finding *finding)
{
    const char *what = what_of(finding->pattern), *other = what_of(finding->verdict.other);
    char *text;

    switch (finding->verdict.belief) {
    case BELIEF_CERTAIN:
        return copy_string(what);
    case BELIEF_LIKELY:
        return format_string("Probably: %c%s", tolower((unsigned char)*what), what + 1);
    default:
        text = other != NULL
                   ? format_string("%s, or %c%s", what, tolower((unsigned char)*other), other + 1)
                   : format_string("%s, or nothing to cure", what);
        return text;
    }
}

/* "; run about 3 times as long to be sure"; the caller frees it. */
static char *longer_text(const struct finding *finding)
{
    return finding->longer > 1
               ? format_string("; run about %.1f times as long to be sure", finding->longer)
               : copy_string("");
}

/* What it is and what it is worth, after what is believed; the caller frees it. */
static char *worth_text(const struct finding *finding, const char *what, const char *time_word)
{
    double most = ceil(100 * finding->time.hi);
    char *gain, *longer, *text;

    if (finding->modelled)
        return format_string(
            "%s: worth at most %.0f %% of the %s; %.0f %% is likely (modelled from "
            "rates; -e exact counts).",
            what, most, time_word, 100 * finding->time.value);
    if (finding->weight == FINDING_OPEN)
        return format_string("%s: worth at most %.0f %% of the %s, and perhaps nothing: run about "
                             "%.1f times as long to be sure.",
                             what, most, time_word, finding->longer);
    gain = range(finding->gain);
    longer = longer_text(finding);
    text = format_string("%s: worth at most %.0f %% of the %s; %s is expected%s.", what, most,
                         time_word, gain, longer);
    free(longer);
    free(gain);
    return text;
}

static char *title_text(const struct finding *finding, const char *time_word)
{
    char *what = believed_text(finding), *text = worth_text(finding, what, time_word);

    free(what);
    return text;
}

static void add_row(struct model *model, struct document *document, struct table *table,
                    const struct finding *finding, const char *time_word)
{
    struct row *row = table_row(table);
    char *title = title_text(finding, time_word), *where = where_text(model, finding);

    row->cells[PATTERN] = cell_text(document, pattern_names[finding->pattern]);
    row->cells[CERTAIN] = cell_truth(is_certain(finding));
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
    free(where);
    free(title);
}

/* Colour tells at a glance what the title says in words. */
static enum tone tone_of(const struct finding *finding)
{
    if (is_certain(finding))
        return TONE_CERTAIN;
    return finding->weight == FINDING_CLEAR && finding->verdict.belief == BELIEF_LIKELY
               ? TONE_LIKELY
               : TONE_OPEN;
}

static void say_finding(struct model *model, const struct finding *finding, size_t number,
                        const char *time_word, struct paragraph *screen)
{
    char *where = where_text(model, finding), *title, *text;

    title = title_text(finding, time_word);
    text = format_string("%zu. %s", number, title);
    paragraph_add_toned(screen, 0, 3, text, tone_of(finding));
    free(text);
    free(title);
    text = format_string("At %s.", where);
    paragraph_add(screen, 3, 3, text);
    free(text);
    free(where);
    if (*finding->remedy != '\0') {
        size_t length = strlen(finding->remedy);

        text = format_string("Do: %s%s", finding->remedy,
                             finding->remedy[length - 1] == '.' ? "" : ".");
        paragraph_add(screen, 3, 7, text);
        free(text);
    }
    text = finding->bursts > 0
               ? format_string("Why: %s [%zu bursts]. Check: %s", finding->reason, finding->bursts,
                               finding->check)
               : format_string("Why: %s [exact]. Check: %s", finding->reason, finding->check);
    paragraph_add(screen, 3, 8, text);
    free(text);
}

/* Where the time goes, when it is not memory that takes it. */
static char *hot_text(struct model *model, const struct findings *findings)
{
    char *time, *text;

    if (findings->hot.function == NULL)
        return copy_string("");
    time = range(findings->hot_time);
    text = findings->hot.file != NULL
               ? format_string(" Most of it is spent in %s (%s), near %s.", findings->hot.function,
                               time, code_line_text(model, &findings->hot))
               : format_string(" Most of it is spent in %s: %s.",
                               code_line_text(model, &findings->hot), time);
    free(time);
    return text;
}

/* Misses take time, and nothing that the record shows would spare them. */
static char *unavoidable_text(struct model *model, const struct findings *findings,
                              const char *time_word)
{
    double memory = ceil(100 * findings->memory.hi);
    char *text;

    if (findings->in_order.value > 0.5 * findings->memory.value &&
        findings->in_order_at.function != NULL)
        text = format_string(
            "Nothing to gain that the record shows: misses take at most %.0f %% of the "
            "%s, most of it on data that is used in order (first at %s), which "
            "prefetches hide in part.",
            memory, time_word, code_line_text(model, &findings->in_order_at));
    else
        text = format_string("No pattern with a known cure: misses take at most %.0f %% of the %s. "
                             "See --lines and --objects.",
                             memory, time_word);
    return text;
}

/* No clock has expired in any of the programs. */
static bool is_unsampled(const struct model *model, const struct findings *findings)
{
    for (size_t p = 0; p < model->profile_count; p++)
        if (model->profiles[p]->bursts.count > 0 || model->profiles[p]->samples.count > 0)
            return false;
    return !model->exact && findings->silent == 0;
}

/* Intervals shrink with the root of the length of the run. */
static double times_until_decided(struct estimate memory)
{
    return fmin(
        100, fmax(2, pow((memory.hi - memory.value) / fmax(0.001, UNDECIDED - memory.value), 2)));
}

/* Misses may take time, and whether they do hangs on what was not seen. */
static char *unseen_text(const struct findings *findings, const char *time_word)
{
    return format_string("Whether anything can be gained is not known: misses may take up to %.0f "
                         "%% of the %s, but next uses after a burst were not observed (%s). A "
                         "longer run does not help; %s does.",
                         ceil(100 * findings->memory.hi), time_word, findings->sight.cause,
                         findings->sight.way_out);
}

static char *nothing_text(struct model *model, const struct findings *findings,
                          const char *time_word)
{
    char *memory, *hot, *text;

    if (is_unsampled(model, findings))
        return copy_string("Too short for a sample: nothing is known of its accesses. Let it work "
                           "longer or on more data; or run it many times and report all profiles "
                           "together; or have every access counted, with reuse-run --engine "
                           "exact.");
    if (findings->silent > model->bursts && findings->silent >= EVIDENCE_BURSTS_MIN)
        return format_string("Nothing to gain: memory is not the problem. At %zu of %zu random "
                             "moments of its %s the program made no memory access for thousands "
                             "of instructions: it calculates.",
                             findings->silent, findings->silent + model->bursts, time_word);
    if (!(model->accesses.value > 0))
        return copy_string("No access was observed: there is nothing to say.");
    if (model->exact)
        return copy_string("Every access was counted, but none was timed: what misses are worth, "
                           "a sampled run tells (reuse-run without -e exact). Where they are: "
                           "--lines, --objects, --blocking.");
    if (!model->exact && model->bursts < EVIDENCE_BURSTS_MIN)
        return format_string("%zu burst%s: too few for a verdict. Run longer, or with a larger "
                             "budget.",
                             model->bursts, model->bursts == 1 ? "" : "s");
    if (findings->sight.misses_long_uses && findings->memory.hi >= 2 * FINDING_TIME_MIN)
        return unseen_text(findings, time_word);
    if (findings->memory.value >= 2 * FINDING_TIME_MIN)
        return unavoidable_text(model, findings, time_word);
    memory = range(findings->memory);
    if (findings->memory.hi >= UNDECIDED) {
        text = format_string("Too few samples to tell whether memory is the problem: misses take "
                             "%s of the %s. Run about %.0f times as long.",
                             memory, time_word, times_until_decided(findings->memory));
        free(memory);
        return text;
    }
    hot = hot_text(model, findings);
    text = format_string("%s%s. Misses take %s of the %s.%s",
                         findings->memory.hi >= 2 * FINDING_TIME_MIN ? "Probably nothing to gain"
                                                                     : "Nothing to gain",
                         findings->sight.misses_sharing ? " from a thread's own use of its caches"
                                                        : ": memory is not the problem",
                         memory, time_word, hot);
    free(hot);
    free(memory);
    return text;
}

/* Time that threads spend on each other rather than on data. */
static void say_runtime(const struct findings *findings, const char *time_word,
                        struct paragraph *screen)
{
    char *time, *text;

    if (findings->runtime_time.lo < 2 * FINDING_TIME_MIN)
        return;
    time = range(findings->runtime_time);
    text = format_string("%s of the %s is spent in the threading runtime: threads wait for each "
                         "other (uneven work, locks, too short loops).",
                         time, time_word);
    paragraph_add(screen, 0, 0, text);
    free(text);
    free(time);
}

/* Beside whatever was found: threads may cost each other more than all of it. */
static void say_unseen_sharing(const struct findings *findings, struct paragraph *screen)
{
    char *text;

    if (!findings->sight.misses_sharing)
        return;
    text =
        format_string("Not observed: sharing between threads, and what it costs (%s). What would "
                      "show it: %s.",
                      findings->sight.cause, findings->sight.way_out);
    paragraph_add(screen, 0, 0, text);
    free(text);
}

static char *below_text(const struct model *model, const struct findings *findings, size_t shown,
                        size_t uncertain)
{
    char *costs = access_costs_text(&findings->costs, &model->machine);
    size_t left = findings->items.count - shown - uncertain;
    char *more =
        left > 0 ? format_string("%zu more finding%s (--format json). ", left, left == 1 ? "" : "s")
                 : copy_string("");
    char *few = uncertain > 0 ? format_string("%zu more with too few samples to tell. ", uncertain)
                              : copy_string("");
    char *text = format_string("%s%sLatencies: %s. Shares of time are modelled, at 95 %%; what "
                               "overlaps in time is not ranked.",
                               more, few, costs);

    free(few);
    free(more);
    free(costs);
    return text;
}

static bool says_something(const struct findings *findings, size_t i)
{
    return findings->items.items[i].weight == FINDING_CLEAR || i == 0;
}

static void put_screen(struct model *model, const struct findings *findings, const char *time_word,
                       const char *conclusion, struct paragraph *screen)
{
    size_t shown = 0, uncertain = 0;
    char *text;

    for (size_t i = 0; i < findings->items.count; i++) {
        struct paragraph one = {.text = NULL};

        if (!says_something(findings, i)) {
            uncertain++;
            continue;
        }
        if (shown == SHOWN_MAX)
            continue;
        say_finding(model, &findings->items.items[i], shown + 1, time_word, &one);
        if (shown == 0 || screen->lines + one.lines + LINES_BELOW <= SCREEN) {
            paragraph_append(screen, &one);
            shown++;
        }
        paragraph_free(&one);
    }
    if (conclusion != NULL)
        paragraph_add_toned(screen, 0, 0, conclusion, TONE_TITLE);
    say_unseen_sharing(findings, screen);
    say_runtime(findings, time_word, screen);
    text = below_text(model, findings, shown, uncertain);
    paragraph_add(screen, 0, 0, text);
    free(text);
}

void section_findings(struct model *model, struct document *document, bool shown)
{
    struct section *section = document_section(document, "findings", "Findings", shown);
    const struct findings *findings = findings_of(model);
    struct table *table = document_table(document, "findings", NULL, NULL, COLUMNS(columns));
    const char *time_word = findings->timed ? "CPU time" : "modelled time";
    char *conclusion = findings->items.count == 0 ? nothing_text(model, findings, time_word) : NULL;
    char *latencies = access_costs_text(&findings->costs, &model->machine);
    struct paragraph screen = {.text = NULL};

    for (size_t i = 0; i < findings->items.count; i++)
        add_row(model, document, table, &findings->items.items[i], time_word);
    section_table(section, table);
    section_fact(section, "time.memory", NULL, INTERVAL_OBJECT,
                 cell_estimate(CELL_SHARE, findings->memory));
    section_fact(section, "time.hottest", NULL, INTERVAL_NONE,
                 cell_text(document, findings->hot.function));
    section_fact(section, "time.measured", NULL, INTERVAL_NONE, cell_truth(findings->timed));
    section_fact(section, "time.latencies", NULL, INTERVAL_NONE, cell_text(document, latencies));
    section_fact(section, "observed.sharing", NULL, INTERVAL_NONE,
                 cell_truth(!findings->sight.misses_sharing));
    section_fact(section, "observed.long_uses", NULL, INTERVAL_NONE,
                 cell_truth(!findings->sight.misses_long_uses));
    section_fact(section, "conclusion", NULL, INTERVAL_NONE, cell_text(document, conclusion));
    put_screen(model, findings, time_word, conclusion, &screen);
    section_verbatim_toned(document, section, screen.text, screen.tones.items, screen.lines);
    paragraph_free(&screen);
    free(latencies);
    free(conclusion);
}
