/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the hardware's own records say of how accesses were served: by source of the data, by
 * translation, by object and by source line. As for perf.data files, whose tables these are.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/served.h"
#include "report/model/last_uses.h"
#include "report/model/object_labels.h"
#include "report/model/tally.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"

/* The records that are looked at. */
struct served_view {
    struct served_item {
        size_t profile;
        const struct record_served *record;
    } * items;
    size_t count;
    double weight;
};

/* All, or those of the thread that was asked for. They do not know regions. */
static struct served_view collect(const struct model *model)
{
    struct served_view view = {0};
    size_t most = 0;

    if (model->options->region != NULL)
        return view;
    for (size_t p = 0; p < model->profile_count; p++)
        most += model->profiles[p]->served.count;
    view.items = allocate_zeroed(most, sizeof *view.items);
    for (size_t p = 0; p < model->profile_count; p++)
        for (size_t i = 0; i < model->profiles[p]->served.count; i++) {
            const struct record_served *record = &model->profiles[p]->served.items[i];

            if (model->asked.thread_id != 0 && record->thread_id != model->asked.thread_id)
                continue;
            view.items[view.count++] = (struct served_item){p, record};
            view.weight += (double)record->weight;
        }
    return view;
}

/* Asked for a region, the records have no answer: which is said where there are any. */
static void note_region(const struct model *model, struct document *document,
                        struct section *section)
{
    bool any = false;

    for (size_t p = 0; p < model->profile_count; p++)
        any |= model->profiles[p]->served.count > 0;
    if (any && model->options->region != NULL)
        section_paragraph(document, section, "notes",
                          "The hardware's records of where data came from do not know regions: see "
                          "the report on everything.");
}

static const char *basis(const struct model *model, struct document *document)
{
    const char *by = profile_run_text(model->profiles[0], "served_by", "hardware records");
    char *text = format_string("Counts of samples of %s; shares by what they stand for; latency in "
                               "cycles, as the processor reported it.",
                               by);
    const char *kept = document_string(document, text);

    free(text);
    return kept;
}

/*
 * The measured counterpart of the modelled misses: loads that the caches up to each level did not
 * serve. Of stores most units tell nothing.
 */
static void add_beyond(struct model *model, struct document *document, struct section *section,
                       struct table *sources)
{
    static const struct column columns[] = {
        {.key = "cache"}, {.key = "share", .interval = INTERVAL_BARE}, {.key = "samples"}};
    struct table *table = document_table(document, "served.beyond", NULL, NULL, columns,
                                         sizeof columns / sizeof columns[0]);
    char *remark = format_string("Of the loads whose source is told, not served by"), *longer;
    struct served_shares shares;

    if (served_shares_of(model->profiles, model->profile_count, model->asked.thread_id, ACCESS_LOAD,
                         &shares) &&
        shares.told > 0) {
        for (unsigned cache = 1; cache <= 3; cache++) {
            struct estimate share = served_beyond(&shares, cache);
            struct row *row = table_row(table);

            row->cells[0] = cell_value(CELL_NUMBER, cache);
            row->cells[1] = cell_estimate(CELL_SHARE, share);
            row->cells[2] = cell_value(CELL_COUNT, (double)shares.told);
            longer = format_string("%s%s L%u: %.2f %% (%.2f to %.2f)", remark, cache > 1 ? "," : "",
                                   cache, 100 * share.value, 100 * share.lo, 100 * share.hi);
            free(remark);
            remark = longer;
        }
        longer = format_string("%s; measured, 95 %% intervals. Compare with the modelled misses of "
                               "each level.",
                               remark);
        table_remark(document, sources, longer);
        free(longer);
        section_table(section, table);
    }
    free(remark);
}

void add_served_sources(struct model *model, struct document *document, struct section *section)
{
    struct tally sources[LEVEL_COUNT] = {0}, translations[TRANSLATION_COUNT] = {0};
    struct served_view view = collect(model);

    for (size_t i = 0; i < view.count; i++) {
        const struct record_served *record = view.items[i].record;

        tally_add_served(&sources[record->level < LEVEL_COUNT ? record->level : LEVEL_UNKNOWN],
                         record);
        tally_add_served(
            &translations[record->translation < TRANSLATION_COUNT ? record->translation
                                                                  : TRANSLATION_UNKNOWN],
            record);
    }
    if (view.count > 0) {
        struct table *table = tally_sources(document, sources, view.weight, basis(model, document));

        section_table(section, table);
        add_beyond(model, document, section, table);
        section_table(section, tally_translations(document, translations, view.weight, NULL));
    }
    note_region(model, document, section);
    for (size_t i = 0; i < LEVEL_COUNT; i++)
        tally_free(&sources[i]);
    for (size_t i = 0; i < TRANSLATION_COUNT; i++)
        tally_free(&translations[i]);
    free(view.items);
}

/* ---- groups ---- */

struct groups {
    struct tally *tallies;
    size_t count;
};

static struct groups group(const struct served_view *view, const uint32_t *labels, size_t count)
{
    struct groups groups = {allocate_zeroed(count, sizeof *groups.tallies), count};

    for (size_t i = 0; i < view->count; i++)
        tally_add_served(&groups.tallies[labels[i]], view->items[i].record);
    return groups;
}

static void free_groups(struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        tally_free(&groups->tallies[i]);
    free(groups->tallies);
}

static struct object_reference reference_of(const struct served_item *item, uint64_t address)
{
    const struct record_served *record = item->record;
    /* A damaged file may hold the kind that stands for no object. */
    uint8_t kind = record->object_kind == OBJECT_KIND_NONE ? OBJECT_UNKNOWN : record->object_kind;

    return (struct object_reference){.profile = item->profile,
                                     .kind = kind,
                                     .id = record->object_reference,
                                     .address = address,
                                     .monotonic_ns = record->monotonic_ns};
}

/*
 * Labels the records with objects. A record of globals whose two ends lie in two variables is of
 * neither: it gets a number of its own, which is returned.
 */
static uint32_t label_objects(struct model *model, const struct served_view *view,
                              data_objects *objects, uint32_t *labels)
{
    struct object_reference *references = allocate_zeroed(2 * view->count, sizeof *references);
    uint32_t *found = allocate_zeroed(2 * view->count, sizeof *found), several;

    for (size_t i = 0; i < view->count; i++) {
        references[2 * i] = reference_of(&view->items[i], view->items[i].record->address_low);
        references[2 * i + 1] = reference_of(&view->items[i], view->items[i].record->address_high);
    }
    object_labels_find(model, references, 2 * view->count, objects, found, NULL);
    several = (uint32_t)objects->count;
    for (size_t i = 0; i < view->count; i++)
        labels[i] = found[2 * i] == found[2 * i + 1] ? found[2 * i] : several;
    free(found);
    free(references);
    return several;
}

static const struct column object_columns[] = {
    {.key = "name", .heading = "object", .flexible = true},
    {.key = "kind", .heading = "kind"},
    {.key = "file"},
    {.key = "line"},
    TALLY_COLUMNS,
};
enum { OBJECT_COLUMNS = 4 };

void add_served_objects(struct model *model, struct document *document, struct section *section)
{
    struct served_view view = collect(model);
    data_objects objects = {0};
    uint32_t *labels = allocate_zeroed(view.count, sizeof *labels), *order;
    uint32_t several = label_objects(model, &view, &objects, labels);
    struct groups groups = group(&view, labels, objects.count + 1);
    struct table *table;
    size_t ranked;

    order = tally_ranking(groups.tallies, groups.count, model->options->top, &ranked);
    table = document_table(document, "served.objects", "By accesses that the hardware sampled",
                           basis(model, document), object_columns,
                           sizeof object_columns / sizeof object_columns[0]);
    for (size_t i = 0; i < ranked && groups.tallies[order[i]].samples > 0; i++) {
        static const struct data_object mixed = {.name = "several variables", .kind = "global"};
        const struct data_object *object = order[i] == several ? &mixed : &objects.items[order[i]];
        struct row *row = table_row(table);

        row->cells[0] = cell_text(document, object->name);
        row->cells[1] = cell_text(document, object->kind);
        row->cells[2] = cell_text(document, object->file);
        row->cells[3] = object->line > 0 ? cell_value(CELL_NUMBER, object->line) : cell_empty();
        tally_cells(&groups.tallies[order[i]], view.weight, row->cells + OBJECT_COLUMNS);
    }
    if (view.count > 0)
        section_table(section, table);
    free(order);
    free_groups(&groups);
    free(labels);
    free(objects.items);
    free(view.items);
}

static const struct column line_columns[] = {
    {.heading = "line", .flexible = true},
    {.key = "file"},
    {.key = "line"},
    {.key = "function", .heading = "function", .flexible = true},
    {.key = "module"},
    TALLY_COLUMNS,
};
enum { LINE_COLUMNS = 5 };

typedef ARRAY(struct code_line) code_lines;

/* Labels the records with lines; strings are shared, so that their addresses identify them. */
static void label_lines(struct model *model, const struct served_view *view, code_lines *lines,
                        uint32_t *labels)
{
    struct intern_table *keys = intern_table_create();

    for (size_t i = 0; i < view->count; i++) {
        const struct record_served *record = view->items[i].record;
        struct code_line line = {.function = "unknown code"};
        const void *key[4];

        if (record->ip != 0)
            line =
                model_own_line(model, view->items[i].profile, record->ip, 0, record->monotonic_ns);
        key[0] = line.function;
        key[1] = line.file;
        key[2] = line.module;
        key[3] = (const void *)(uintptr_t)line.line;
        labels[i] = intern_table_insert(keys, key, sizeof key);
        if (labels[i] == lines->count)
            ARRAY_PUSH(lines, line);
    }
    intern_table_free(keys);
}

void add_served_lines(struct model *model, struct document *document, struct section *section)
{
    struct served_view view = collect(model);
    code_lines lines = {0};
    uint32_t *labels = allocate_zeroed(view.count, sizeof *labels), *order;
    struct groups groups;
    struct table *table;
    size_t ranked;

    label_lines(model, &view, &lines, labels);
    groups = group(&view, labels, lines.count);
    order = tally_ranking(groups.tallies, groups.count, model->options->top, &ranked);
    table = document_table(document, "served.lines", "By accesses that the hardware sampled",
                           basis(model, document), line_columns,
                           sizeof line_columns / sizeof line_columns[0]);
    for (size_t i = 0; i < ranked; i++) {
        const struct code_line *line = &lines.items[order[i]];
        struct row *row = table_row(table);

        row->cells[0] = cell_text(document, code_line_text(model, line));
        row->cells[1] = cell_text(document, line->file);
        row->cells[2] = line->line > 0 ? cell_value(CELL_NUMBER, line->line) : cell_empty();
        row->cells[3] = cell_text(document, line->function);
        row->cells[4] = cell_text(document, line->module);
        tally_cells(&groups.tallies[order[i]], view.weight, row->cells + LINE_COLUMNS);
    }
    if (view.count > 0)
        section_table(section, table);
    free(order);
    free_groups(&groups);
    free(labels);
    free(lines.items);
    free(view.items);
}
