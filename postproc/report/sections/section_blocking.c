/* SPDX-License-Identifier: BSD-3-Clause */
/* --blocking: loops to block or fuse, streams, and layouts, each with what it would save. */
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/findings/finding_at.h"
#include "report/findings/nothing_found.h"
#include "report/model/last_uses.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"
#include "report/traffic/blocking_hints.h"

/* Places with fewer accesses cannot be worth a hint. */
enum { GROUPS_MAX = 200 };

/* The accesses of one line of source to one object; in exact profiles to anything. */
struct place {
    uint32_t group;        /* in the grouping by both */
    uint32_t line, object; /* object: GROUP_NONE when not known */
    double accesses, width_sum, store_sum;
};

struct hints {
    struct model *model;
    struct grouping by_place, late; /* late: not used again in their bursts */
    ARRAY(struct place) places;
};

/* A place and what there is to say of it. */
struct place_hint {
    const struct place *place;
    struct hint hint;
    struct estimate share;        /* of all misses of its level */
    double stores;                /* part of the place's accesses */
    const struct finding *covers; /* a finding that says what to do; NULL: none */
};

static void note_access(struct hints *hints, size_t observation, uint32_t group)
{
    struct place *place = &hints->places.items[group];
    double weight;

    if (hints->model->exact) {
        const struct record_histogram *histogram =
            analysis_histogram(hints->model->analysis, observation, NULL);

        if (histogram->measure == MEASURE_STACK_DISTANCE)
            place->accesses += (double)histogram->accesses;
        return;
    }
    const struct analysed_probe *probe = analysis_probe(hints->model->analysis, observation, NULL);

    weight = analysis_probe_weight(hints->model->analysis, observation);
    place->accesses += weight;
    place->width_sum += weight * probe->width;
    place->store_sum += probe->kind == ACCESS_STORE ? weight : 0;
    if (probe->late)
        hints->late.labels[observation] = group;
}

/* Labels every observation with its line and object taken together. */
static void group_places(struct hints *hints)
{
    struct model *model = hints->model;
    struct intern_table *keys = intern_table_create();

    model_label_lines(model);
    if (!model->exact)
        model_label_objects(model);
    hints->by_place.labels = allocate_zeroed(model->observations, sizeof(uint32_t));
    hints->late.labels = allocate_zeroed(model->observations, sizeof(uint32_t));
    for (size_t i = 0; i < model->observations; i++) {
        uint32_t key[2] = {model->by_line.labels[i],
                           model->exact ? GROUP_NONE : model->by_object.labels[i]};
        uint32_t group;

        hints->by_place.labels[i] = hints->late.labels[i] = GROUP_NONE;
        if (key[0] == GROUP_NONE)
            continue;
        group = intern_table_insert(keys, key, sizeof(key));
        if (group == hints->places.count)
            ARRAY_PUSH(&hints->places,
                       ((struct place){.group = group, .line = key[0], .object = key[1]}));
        hints->by_place.labels[i] = group;
        note_access(hints, i, group);
    }
    intern_table_free(keys);
    hints->by_place.count = hints->late.count = hints->places.count;
    hints->late.accesses = allocate_zeroed(hints->places.count, sizeof(double));
    if (!model->exact) {
        grouping_count_bursts(model, &hints->by_place);
        grouping_list_members(&hints->by_place, model->observations);
        grouping_list_members(&hints->late, model->observations);
    }
}

static void free_hints(struct hints *hints)
{
    grouping_free(&hints->by_place);
    grouping_free(&hints->late);
    free(hints->places.items);
}

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;

    if (a->accesses != b->accesses)
        return a->accesses > b->accesses ? -1 : 1;
    return (a->group > b->group) - (a->group < b->group);
}

static int compare_findings(const void *left, const void *right)
{
    const struct place_hint *a = left, *b = right;

    /* Outer levels cost more; there, what saves most. */
    if (a->hint.level != b->hint.level)
        return a->hint.level > b->hint.level ? -1 : 1;
    if (a->hint.misses.value != b->hint.misses.value)
        return a->hint.misses.value > b->hint.misses.value ? -1 : 1;
    return (a->place->group > b->place->group) - (a->place->group < b->place->group);
}

/* In exact profiles no time was measured for findings to be of. */
static const struct finding *covering(struct model *model, const struct place *place)
{
    const char *object =
        place->object != GROUP_NONE ? model->objects.items[place->object].name : NULL;

    return model->exact ? NULL
                        : finding_at(findings_of(model), &model->lines.items[place->line], object);
}

static bool examine(const struct hints *hints, const struct place *place,
                    struct place_hint *finding)
{
    struct model *model = hints->model;
    struct curve_point points[MODEL_SIZES_MAX];
    struct hint_question question = {
        .points = points,
        .count = model->size_count,
        .machine = &model->machine,
        .accesses = place->accesses,
        .total_accesses = model->accesses.value,
        .line_size = analysis_line_size(model->analysis),
        .width = place->accesses > 0 ? place->width_sum / place->accesses : 0,
    };
    struct estimate shares[MACHINE_LEVELS_MAX];

    analysis_miss_ratio_curve(model->analysis, grouping_subset(&hints->by_place, place->group),
                              model->sizes, model->size_count, points);
    finding->place = place;
    finding->hint = hint_for(&question);
    if (finding->hint.kind == HINT_NONE)
        return false;
    model_shares_of_misses(model, grouping_subset(&hints->by_place, place->group), shares);
    finding->share = shares[finding->hint.level];
    finding->covers = covering(model, place);
    finding->stores = place->accesses > 0 ? place->store_sum / place->accesses : 0;
    return true;
}

static const char *const kind_names[] = {
    [HINT_BLOCK] = "block", [HINT_STREAM] = "stream", [HINT_LAYOUT] = "layout"};

static const struct column columns[] = {
    {.key = "hint"},
    {.heading = "hint"},
    {.heading = "line", .flexible = true},
    {.key = "file"},
    {.key = "line"},
    {.key = "function"},
    {.key = "object", .heading = "object", .flexible = true},
    {.key = "cache_level", .heading = "misses\nin"},
    {.key = "misses", .heading = "misses\nconcerned", .interval = INTERVAL_SUFFIXED},
    {.key = "misses_share",
     .heading = "% of the\nlevel's",
     .interval = INTERVAL_SUFFIXED,
     .heat = true},
    {.key = "need_bytes", .heading = "needs"},
    {.key = "cache_bytes"},
    {.key = "line_bytes_used"},
    {.key = "store_share"},
    {.key = "reuse_from"},
    {.key = "advice"},
    {.key = "finding"},
};
enum {
    KIND,
    SHOWN_KIND,
    PLACE,
    FILE_NAME,
    LINE,
    FUNCTION,
    OBJECT,
    LEVEL,
    MISSES,
    SHARE,
    NEEDS,
    CACHE,
    USED,
    STORES,
    REUSE,
    ADVICE,
    COVERED,
};

static const struct column use_columns[] = {
    {.key = "file"}, {.key = "line"}, {.key = "function"}, {.key = "share"}};

static struct table *use_table(struct document *document, const struct last_uses *uses)
{
    struct table *table = document_table(document, NULL, NULL, NULL, use_columns,
                                         sizeof(use_columns) / sizeof(*use_columns));

    for (size_t i = 0; i < uses->count; i++) {
        struct row *row = table_row(table);

        row->cells[0] = cell_text(document, uses->uses[i].line.file);
        if (uses->uses[i].line.line > 0)
            row->cells[1] = cell_value(CELL_NUMBER, uses->uses[i].line.line);
        row->cells[2] = cell_text(document, uses->uses[i].line.function);
        row->cells[3] = cell_value(CELL_SHARE, uses->uses[i].share);
    }
    return table;
}

static bool is_same_line(const struct code_line *a, const struct code_line *b)
{
    return a->file == b->file && a->line == b->line && a->function == b->function;
}

/* What to do about data that is reused too late. The caller frees it. */
static char *block_advice(const struct hints *hints, struct document *document,
                          const struct place_hint *finding, const struct last_uses *uses)
{
    struct model *model = hints->model;
    const struct machine_cache *cache = &model->machine.caches[finding->hint.level];
    const char *name = level_name(model, document, finding->hint.level);
    char *need = number_bytes(finding->hint.need_bytes), *size = number_bytes((double)cache->bytes);
    const struct code_line *line = &model->lines.items[finding->place->line];
    double factor = finding->hint.need_bytes / (double)cache->bytes;
    char *text;

    if (finding->covers != NULL)
        text = format_string("used again after %s of other data, %s holds %s", need, name, size);
    else if (uses->count == 0)
        text = format_string("used again after %s of other data, %s holds %s: block the loops "
                             "around it to %.1f times less",
                             need, name, size, factor);
    else if (is_same_line(line, &uses->uses[0].line))
        text = format_string(
            "last used by the same line (%.0f %%), %s before, in an earlier turn of "
            "an outer loop; %s holds %s: interchange the loops, or block that one, to "
            "%.1f times less",
            100 * uses->uses[0].share, need, name, size, factor);
    else
        text = format_string("last used at %s (%.0f %%), %s before, %s holds %s: bring the two "
                             "together, by fusing or blocking the loops around them, to %.1f times "
                             "less",
                             code_line_text(model, &uses->uses[0].line), 100 * uses->uses[0].share,
                             need, name, size, factor);
    free(need);
    free(size);
    return text;
}

static char *layout_advice(const struct hints *hints, const struct place_hint *finding)
{
    return format_string("each line that is fetched serves %.0f of its %u bytes%s",
                         finding->hint.bytes_of_line, analysis_line_size(hints->model->analysis),
                         finding->covers != NULL
                             ? ""
                             : ": put together what is used together (structure of arrays, a "
                               "denser index, blocks)");
}

static char *stream_advice(const struct place_hint *finding)
{
    if (finding->covers != NULL)
        return copy_string("misses in every cache");
    if (finding->stores > 0.5)
        return copy_string("written once and far from its next use: non-temporal stores would "
                           "save the fetch of each line and leave the caches to other data");
    return copy_string("passes through every cache unused: non-temporal prefetches, or a sector "
                       "of its own, would leave the caches to other data");
}

/* What was seen and what to do about it; where a finding says that, it is what to do. The caller
 * frees it. */
static char *advice_text(const struct hints *hints, struct document *document,
                         const struct place_hint *finding, const struct last_uses *uses)
{
    char *seen = finding->hint.kind == HINT_BLOCK    ? block_advice(hints, document, finding, uses)
                 : finding->hint.kind == HINT_LAYOUT ? layout_advice(hints, finding)
                                                     : stream_advice(finding);
    char *reference, *text;

    if (finding->covers == NULL)
        return seen;
    reference = finding_reference_text(hints->model, findings_of(hints->model), finding->covers,
                                       &hints->model->lines.items[finding->place->line]);
    text = format_string("%s; %s", seen, reference);
    free(reference);
    free(seen);
    return text;
}

static void add_finding(const struct hints *hints, struct document *document, struct table *table,
                        const struct place_hint *finding)
{
    struct model *model = hints->model;
    const struct code_line *line = &model->lines.items[finding->place->line];
    struct last_uses uses = {0};
    struct row *row = table_row(table);
    char *advice;

    if (!model->exact)
        last_uses_of(model, &hints->late, finding->place->group, &uses);
    row->cells[KIND] = cell_text(document, kind_names[finding->hint.kind]);
    row->cells[SHOWN_KIND] =
        cell_text(document, finding->covers != NULL ? "finding" : kind_names[finding->hint.kind]);
    if (finding->covers != NULL)
        row->cells[COVERED] = cell_text(document, pattern_names[finding->covers->pattern]);
    row->cells[PLACE] = cell_text(document, code_line_text(model, line));
    row->cells[FILE_NAME] = cell_text(document, line->file);
    if (line->line > 0)
        row->cells[LINE] = cell_value(CELL_NUMBER, line->line);
    row->cells[FUNCTION] = cell_text(document, line->function);
    if (finding->place->object != GROUP_NONE)
        row->cells[OBJECT] = cell_text(document, model->objects.items[finding->place->object].name);
    row->cells[LEVEL] = cell_text(document, level_name(model, document, finding->hint.level));
    row->cells[MISSES] = cell_estimate(CELL_COUNT, finding->hint.misses);
    row->cells[SHARE] = cell_estimate(CELL_SHARE, finding->share);
    row->cells[CACHE] =
        cell_value(CELL_BYTES, (double)model->machine.caches[finding->hint.level].bytes);
    row->cells[STORES] = model->exact ? cell_empty() : cell_value(CELL_SHARE, finding->stores);
    row->cells[REUSE] = cell_table(use_table(document, &uses));
    if (finding->hint.kind == HINT_BLOCK)
        row->cells[NEEDS] = cell_value(CELL_BYTES, finding->hint.need_bytes);
    else if (finding->place->width_sum > 0)
        row->cells[USED] = cell_value(CELL_BYTES, finding->hint.bytes_of_line);
    advice = advice_text(hints, document, finding, &uses);
    row->cells[ADVICE] = cell_text(document, advice);
    row_prose(document, row, advice);
    free(advice);
}

/* Why there is no hint, by what the first screen knows. */
static void say_nothing(struct model *model, struct document *document, struct section *section)
{
    const struct findings *findings = model->exact ? NULL : findings_of(model);
    char *text;

    if (findings == NULL)
        text = copy_string("Nothing to gain: no line of source has misses that blocking, another "
                           "layout or non-temporal accesses would save.");
    else if (findings_first_of_accesses(findings) < findings->items.count)
        text = copy_string("No hint beyond the findings that reuse-report begins with.");
    else
        text = nothing_found_text(model, findings, findings->timed ? "CPU time" : "modelled time");
    section_paragraph(document, section, NULL, text);
    free(text);
}

static void add_table(const struct hints *hints, struct document *document, struct section *section,
                      struct place_hint *findings, size_t count)
{
    size_t top = hints->model->options->top, shown = count < top ? count : top;
    struct table *table = document_table(
        document, "blocking", count > 0 ? "Outer caches first" : NULL,
        basis_text(hints->model, document, ""), columns, sizeof(columns) / sizeof(*columns));

    for (size_t i = 0; i < shown; i++)
        add_finding(hints, document, table, &findings[i]);
    if (shown < count) {
        char *remark = format_string("%zu hints in all: see --top.", count);

        table_remark(document, table, remark);
        free(remark);
    }
    section_table(section, table);
    if (count == 0)
        say_nothing(hints->model, document, section);
    else if (hints->model->exact)
        section_paragraph(document, section, NULL,
                          "Which line uses the data next, and of which object it is, sampled "
                          "profiles say.");
}

void section_blocking(struct model *model, struct document *document)
{
    struct section *section =
        document_section(document, "blocking", "Blocking, streams and layout", true);
    struct hints hints = {.model = model};
    struct place_hint *findings;
    size_t count = 0;

    group_places(&hints);
    findings = allocate_zeroed(GROUPS_MAX, sizeof(*findings));
    if (hints.places.count > 0)
        qsort(hints.places.items, hints.places.count, sizeof(*hints.places.items), compare_places);
    for (size_t i = 0; i < hints.places.count && i < GROUPS_MAX; i++) {
        const struct place *place = &hints.places.items[i];

        if (place->accesses < HINT_MISSES_MIN * model->accesses.value)
            break;
        /* The shape of its curve is not known. */
        if (!model->exact && hints.by_place.bursts[place->group] < MODEL_BURSTS_MIN)
            continue;
        count += examine(&hints, place, &findings[count]);
    }
    if (count > 0)
        qsort(findings, count, sizeof(*findings), compare_findings);
    add_table(&hints, document, section, findings, count);
    free(findings);
    free_hints(&hints);
}
