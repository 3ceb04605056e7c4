/* SPDX-License-Identifier: BSD-3-Clause */
/* --structs: what is done with the members of structures, and in which order they should lie. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"
#include "report/structs/struct_advice.h"

static const struct column type_columns[] = {
    {.key = "type"},
    {.key = "size"},
    {.key = "file"},
    {.key = "line"},
    {.key = "module"},
    {.key = "objects"},
    {.key = "bursts"},
    {.key = "accesses", .interval = INTERVAL_SUFFIXED},
    {.key = "accesses_share", .interval = INTERVAL_SUFFIXED},
    {.key = "misses_share", .interval = INTERVAL_SUFFIXED},
    {.key = "padding"},
    {.key = "verdict"},
    {.key = "advice"},
    {.key = "lines_per_element"},
    {.key = "proposed.lines_per_element"},
    {.key = "proposed.size"},
    {.key = "members"},
    {.key = "used_together"},
};

enum {
    TYPE_NAME,
    TYPE_SIZE,
    TYPE_FILE,
    TYPE_LINE,
    TYPE_MODULE,
    TYPE_OBJECTS,
    TYPE_BURSTS,
    TYPE_ACCESSES,
    TYPE_SHARE,
    TYPE_MISSES,
    TYPE_PADDING,
    TYPE_VERDICT,
    TYPE_ADVICE,
    TYPE_LINES,
    TYPE_LINES_THEN,
    TYPE_SIZE_THEN,
    TYPE_MEMBERS,
    TYPE_TOGETHER,
};

/* The same columns in text, with rows for holes and line ends, and in JSON, without. */
static const struct column member_columns[] = {
    {.key = "offset", .heading = "byte"},
    {.key = "size", .heading = "size"},
    {.key = "name", .heading = "member", .flexible = true},
    {.key = "kind"},
    {.key = "type"},
    {.key = "alignment"},
    {.key = "accesses"},
    {.key = "accesses_share", .heading = "accesses\n%"},
    {.key = "misses_share", .heading = "misses\n%", .interval = INTERVAL_SUFFIXED},
    {.key = "stores_share", .heading = "stores\n%"},
    {.key = "readers"},
    {.key = "writers"},
    {.heading = "threads\nread/write", .optional = true},
    {.key = "hole_after"},
    {.key = "proposed_offset", .heading = "then\nbyte"}, /* last: left out where there is none */
};

enum {
    OFFSET,
    SIZE,
    NAME,
    KIND,
    TYPE,
    ALIGNMENT,
    ACCESSES,
    SHARE,
    MISSES,
    STORES,
    READERS,
    WRITERS,
    THREADS,
    HOLE,
    THEN,
    MEMBER_COLUMNS
};

static const struct column pair_columns[] = {{.key = "member"}, {.key = "with"}, {.key = "share"}};

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

/* A type with what is said of it. */
struct shown_type {
    const struct used_type *used;
    struct struct_advice advice;
    struct estimate accesses, misses; /* shares of all */
    struct estimate *member_misses;   /* shares of all */
};

static const char *const kind_names[] = {
    [MEMBER_PLAIN] = "plain", [MEMBER_BITS] = "bits",   [MEMBER_BASE] = "base",
    [MEMBER_TABLE] = "table", [MEMBER_UNION] = "union", [MEMBER_OPEN] = "open array",
};

/* --- Figures ------------------------------------------------------------------------------ */

/* Part of all misses at the level that decides; nothing where no cache is known. */
static struct estimate misses_of(const struct model *model, struct subset subset)
{
    size_t size = model->level_size[model_focus_level(model)];
    double bytes = model->sizes[size];
    struct estimate accesses = analysis_subset_accesses(model->analysis, subset);
    struct curve_point point;

    analysis_miss_ratio_curve(model->analysis, subset, &bytes, 1, &point);
    return model_part((struct estimate){accesses.value * point.miss_ratio.value,
                                        accesses.value * point.miss_ratio.lo,
                                        accesses.value * point.miss_ratio.hi},
                      model->accesses.value * model->whole[size].miss_ratio.value);
}

/* The observations of a type that touch the member; of all its members: GROUP_NONE. */
static struct subset subset_of(const struct used_type *used, uint32_t member, uint32_t *members)
{
    size_t count = 0;

    for (size_t i = 0; i < used->observations.count; i++)
        if (member == GROUP_NONE || used->observations.items[i].member == member)
            members[count++] = used->observations.items[i].observation;
    return (struct subset){.members = members, .member_count = count, .objects = true};
}

static void find_figures(const struct model *model, struct shown_type *shown)
{
    const struct used_type *used = shown->used;
    uint32_t *members = allocate_zeroed(used->observations.count, sizeof(*members));
    uint32_t *labels = allocate_zeroed(model->observations, sizeof(*labels));
    struct subset all = subset_of(used, GROUP_NONE, members);

    for (size_t i = 0; i < model->observations; i++)
        labels[i] = GROUP_NONE;
    for (size_t i = 0; i < used->observations.count; i++)
        labels[used->observations.items[i].observation] = used->observations.items[i].member;
    all.groups = labels;
    shown->member_misses =
        allocate_zeroed(used->members.items.count, sizeof(*shown->member_misses));
    for (uint32_t i = 0; i < used->members.items.count; i++) {
        struct subset subset = subset_of(used, i, members);

        subset.groups = labels;
        subset.group = i;
        if (subset.member_count > 0)
            shown->member_misses[i] = misses_of(model, subset);
    }
    all = subset_of(used, GROUP_NONE, members);
    for (size_t i = 0; i < used->observations.count; i++)
        labels[used->observations.items[i].observation] = 0;
    all.groups = labels;
    all.group = 0;
    shown->misses = misses_of(model, all);
    shown->accesses =
        model_part(analysis_subset_accesses(model->analysis, all), model->accesses.value);
    free(labels);
    free(members);
}

/* --- Tables ------------------------------------------------------------------------------- */

static uint64_t end_of(const struct type_member *member)
{
    return member->offset + member->size;
}

/* Bytes between a member and what follows it, or the structure's end. */
static uint64_t hole_after(const struct type_members *members, size_t member)
{
    const struct type_member *items = members->items.items;
    uint64_t next = member + 1 < members->items.count ? items[member + 1].offset : members->size;

    return items[member].kind != MEMBER_OPEN && next > end_of(&items[member])
               ? next - end_of(&items[member])
               : 0;
}

static uint64_t padding_of(const struct type_members *members)
{
    uint64_t sum = members->items.items[0].offset;

    for (size_t i = 0; i < members->items.count && !members->is_union; i++)
        sum += hole_after(members, i);
    return sum;
}

static void fill_member(const struct shown_type *shown, struct document *document, struct row *row,
                        size_t i)
{
    const struct used_type *used = shown->used;
    const struct type_member *member = &used->members.items.items[i];
    const struct member_use *use = &used->uses[i];
    char *threads = format_string("%zu/%zu", member_use_readers(use), member_use_writers(use));
    uint64_t hole = used->members.is_union ? 0 : hole_after(&used->members, i);

    row->cells[OFFSET] = cell_value(CELL_NUMBER, (double)member->offset);
    row->cells[SIZE] = cell_value(CELL_NUMBER, (double)member->size);
    row->cells[NAME] = cell_text(document, member->name);
    row->cells[KIND] = cell_text(document, kind_names[member->kind]);
    row->cells[TYPE] = cell_text(document, member->type);
    row->cells[ALIGNMENT] = cell_value(CELL_NUMBER, (double)member->alignment);
    row->cells[ACCESSES] = cell_value(CELL_COUNT, use->accesses);
    row->cells[SHARE] =
        cell_value(CELL_SHARE, used->accesses > 0 ? use->accesses / used->accesses : 0);
    row->cells[HOLE] = cell_value(CELL_NUMBER, (double)hole);
    row->cells[READERS] = cell_value(CELL_NUMBER, (double)member_use_readers(use));
    row->cells[WRITERS] = cell_value(CELL_NUMBER, (double)member_use_writers(use));
    if (use->accesses > 0) {
        row->cells[MISSES] = cell_estimate(CELL_SHARE, shown->member_misses[i]);
        row->cells[STORES] = cell_value(CELL_SHARE, use->stores / use->accesses);
        row->cells[THREADS] = cell_text(document, threads);
    }
    if (shown->advice.kind == STRUCT_REORDER)
        row->cells[THEN] = cell_value(CELL_NUMBER, (double)shown->advice.order.offsets[i]);
    free(threads);
}

/* Where lines end, counted from the structure's first byte, and how long the hole is. */
static void add_ruler(struct document *document, struct table *table, const struct used_type *used,
                      size_t i)
{
    uint64_t line = used->starts.line, from = used->members.items.items[i].offset;
    uint64_t hole = hole_after(&used->members, i);
    uint64_t next = i + 1 < used->members.items.count ? used->members.items.items[i + 1].offset
                                                      : used->members.size;

    if (hole > 0 && !used->members.is_union) {
        struct row *row = table_row(table);

        row->cells[OFFSET] = cell_value(CELL_NUMBER, (double)end_of(&used->members.items.items[i]));
        row->cells[SIZE] = cell_value(CELL_NUMBER, (double)hole);
        row->cells[NAME] = cell_text(document, "(hole)");
    }
    if (next < used->members.size && next / line > from / line) {
        char *text = format_string("---- %" PRIu64 " ----", next / line * line);

        table_row(table)->cells[NAME] = cell_text(document, text);
        free(text);
    }
}

static struct table *member_table(const struct shown_type *shown, struct document *document,
                                  const char *title, const char *basis)
{
    const struct type_members *members = &shown->used->members;
    size_t left_out = title != NULL && shown->advice.kind != STRUCT_REORDER;
    struct table *table =
        document_table(document, NULL, title, basis, member_columns, MEMBER_COLUMNS - left_out);

    for (size_t i = 0; i < members->items.count; i++) {
        fill_member(shown, document, table_row(table), i);
        if (title != NULL)
            add_ruler(document, table, shown->used, i);
    }
    return table;
}

static struct table *pair_table(const struct used_type *used, struct document *document)
{
    struct table *table = document_table(document, NULL, NULL, NULL, COLUMNS(pair_columns));

    for (size_t i = 0; i < used->members.items.count; i++)
        for (size_t k = i + 1; k < used->members.items.count; k++) {
            double share = type_uses_together(used, i, k);
            struct row *row;

            if (!(share > 0))
                continue;
            row = table_row(table);
            row->cells[0] = cell_text(document, used->members.items.items[i].name);
            row->cells[1] = cell_text(document, used->members.items.items[k].name);
            row->cells[2] = cell_value(CELL_SHARE, share);
        }
    return table;
}

/* "cells, spare and 3 others". The caller frees it. */
static char *objects_text(const struct model *model, const struct used_type *used)
{
    size_t count = used->objects.count;
    const char *first = model->objects.items[used->objects.items[0]].name;

    if (count == 1)
        return copy_string(first);
    if (count == 2)
        return format_string("%s and %s", first, model->objects.items[used->objects.items[1]].name);
    return format_string("%s, %s and %zu other%s", first,
                         model->objects.items[used->objects.items[1]].name, count - 2,
                         count > 3 ? "s" : "");
}

static void add_json_row(const struct model *model, struct document *document, struct table *table,
                         const struct shown_type *shown)
{
    const struct used_type *used = shown->used;
    struct row *row = table_row(table);
    char *objects = objects_text(model, used);
    struct estimate accesses = {shown->accesses.value * model->accesses.value,
                                shown->accesses.lo * model->accesses.value,
                                shown->accesses.hi * model->accesses.value};

    row->cells[TYPE_NAME] = cell_text(document, used->name);
    row->cells[TYPE_SIZE] = cell_value(CELL_BYTES, (double)used->members.size);
    row->cells[TYPE_FILE] = cell_text(document, used->members.file);
    row->cells[TYPE_LINE] =
        used->members.line > 0 ? cell_value(CELL_NUMBER, used->members.line) : cell_empty();
    row->cells[TYPE_MODULE] = cell_text(document, used->module);
    row->cells[TYPE_OBJECTS] = cell_text(document, objects);
    row->cells[TYPE_BURSTS] = cell_value(CELL_NUMBER, (double)used->bursts);
    row->cells[TYPE_ACCESSES] = cell_estimate(CELL_COUNT, accesses);
    row->cells[TYPE_SHARE] = cell_estimate(CELL_SHARE, shown->accesses);
    row->cells[TYPE_MISSES] = cell_estimate(CELL_SHARE, shown->misses);
    row->cells[TYPE_PADDING] = used->members.is_union
                                   ? cell_empty()
                                   : cell_value(CELL_BYTES, (double)padding_of(&used->members));
    row->cells[TYPE_VERDICT] = cell_text(document, struct_advice_name(shown->advice.kind));
    row->cells[TYPE_ADVICE] = cell_text(document, shown->advice.text);
    if (shown->advice.order.lines_now > 0)
        row->cells[TYPE_LINES] = cell_value(CELL_NUMBER, shown->advice.order.lines_now);
    if (shown->advice.kind == STRUCT_REORDER) {
        row->cells[TYPE_LINES_THEN] = cell_value(CELL_NUMBER, shown->advice.order.lines_then);
        row->cells[TYPE_SIZE_THEN] = cell_value(CELL_BYTES, (double)shown->advice.order.size);
    }
    row->cells[TYPE_MEMBERS] = cell_table(member_table(shown, document, NULL, NULL));
    row->cells[TYPE_TOGETHER] = cell_table(pair_table(used, document));
    free(objects);
}

static void add_text_table(const struct model *model, struct document *document,
                           struct section *section, const struct shown_type *shown)
{
    const struct used_type *used = shown->used;
    char *objects = objects_text(model, used);
    char *accesses = number_percent(shown->accesses.value);
    char *misses = number_percent(shown->misses.value);
    const char *place = place_text(model->strings, used->members.file, used->members.line);
    char *title = format_string("%s, %" PRIu64 " B%s%s", used->name, used->members.size,
                                place != NULL ? ", " : "", place != NULL ? place : "");
    char *basis =
        format_string("In %s: %s %% of the accesses, %s %% of the misses at %s; %zu "
                      "bursts.",
                      objects, accesses, misses,
                      level_name(model, document, model_focus_level(model)), used->bursts);
    struct table *table = member_table(shown, document, title, basis);

    table_remark(document, table, shown->advice.text);
    section_table(section, table);
    free(basis);
    free(title);
    free(misses);
    free(accesses);
    free(objects);
}

/* --- The section -------------------------------------------------------------------------- */

/* Modules whose variables have no type for want of debug information. "" or " (a, b)". */
static char *modules_without_types(const struct model *model)
{
    struct symbols *symbols = resolver_symbols(model->resolver);
    char *list = copy_string("");
    size_t count = 0;

    for (size_t i = 0; i < symbols_module_count(symbols); i++) {
        struct symbol_module *module = symbols_module_number(symbols, i);
        enum module_state state = symbol_module_state(module);
        char *longer;

        if (state == MODULE_DEBUG || state == MODULE_VIRTUAL || count >= 3)
            continue;
        longer = format_string("%s%s%s", list, count++ > 0 ? ", " : "", symbol_module_name(module));
        free(list);
        list = longer;
    }
    return list;
}

/* What is not in the tables, and why. */
static void say_untyped(const struct model *model, struct document *document,
                        struct section *section, const struct type_uses *uses, size_t shown)
{
    char *share, *modules, *text;

    if (shown > 0 && uses->untyped < 0.1 * uses->accesses)
        return;
    share = number_percent(uses->accesses > 0 ? uses->untyped / uses->accesses : 0);
    modules = modules_without_types(model);
    text = format_string(
        "%s%s %% of the accesses are to data of unknown type: stacks, numbers in heap blocks "
        "without a variable's name, modules without debug information%s%s%s. Compile with -g, and "
        "keep the sources where the compiler found them.",
        shown == 0 ? "No structure is known. " : "", share, *modules != '\0' ? " (" : "", modules,
        *modules != '\0' ? ")" : "");
    section_paragraph(document, section, "structs_untyped", text);
    free(text);
    free(modules);
    free(share);
}

/* Misses that the interval does not carry are none, and accesses decide. */
static int compare_shown(const void *left, const void *right)
{
    const struct shown_type *a = left, *b = right;
    double x = a->misses.lo > 0 ? a->misses.value : 0, y = b->misses.lo > 0 ? b->misses.value : 0;

    if (x != y)
        return x < y ? 1 : -1;
    return (a->used->accesses < b->used->accesses) - (a->used->accesses > b->used->accesses);
}

/* Types with fewer accesses tell nothing of a program's time. */
static const double share_min = 0.01;

void section_structs(struct model *model, struct document *document)
{
    struct section *section = document_section(document, "structs", "Structures", true);
    struct table *table = document_table(document, "structs", NULL, NULL, COLUMNS(type_columns));
    struct type_uses *uses;
    struct shown_type *shown;
    size_t count = 0;

    if (model->exact || model->machine.levels == 0) {
        section_paragraph(
            document, section, "structs_untyped",
            "A profile of exact counts tells no members: run with the engine clock or "
            "pmu for --structs.");
        section_table(section, table);
        return;
    }
    uses = type_uses_of(model);
    shown = allocate_zeroed(uses->types.count, sizeof(*shown));
    for (size_t i = 0; i < uses->types.count && i < 2 * model->options->top; i++) {
        if (uses->types.items[i].accesses < share_min * uses->accesses)
            break;
        shown[count].used = &uses->types.items[i];
        find_figures(model, &shown[count]);
        shown[count].advice = struct_advice_of(model, shown[count].used);
        count++;
    }
    if (count > 0)
        qsort(shown, count, sizeof(*shown), compare_shown);
    for (size_t i = 0; i < count; i++) {
        if (i < model->options->top) {
            add_json_row(model, document, table, &shown[i]);
            add_text_table(model, document, section, &shown[i]);
        }
        struct_advice_free(&shown[i].advice);
        free(shown[i].member_misses);
    }
    section_table(section, table);
    if (count > 0)
        section_paragraph(
            document, section, NULL,
            basis_text(
                model, document,
                ". Accesses: of the structure's; misses: of the program's; stores: of the "
                "member's accesses; then: where the proposed order has it. Lines are modelled: "
                "what a burst uses of an object's structures is taken as used in one "
                "element. Before you change an order, see whether files, networks or other "
                "programs rely on it"));
    say_untyped(model, document, section, uses, count);
    free(shown);
    type_uses_free(uses);
}
