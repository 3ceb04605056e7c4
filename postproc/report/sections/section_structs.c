/* SPDX-License-Identifier: BSD-3-Clause */
/* --structs: what is done with the members of structures, and in which order they should lie. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/sections/folded_rows.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"
#include "report/structs/struct_tables.h"

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

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

/* --- Figures ------------------------------------------------------------------------------ */

/* Part of all misses at the level that decides; nothing where no cache is known. */
static struct estimate misses_of(struct model *model, struct subset subset)
{
    struct estimate shares[MACHINE_LEVELS_MAX] = {{0, 0, 0}};

    model_shares_of_misses(model, subset, shares);
    return shares[model_focus_level(model)];
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

static void find_figures(struct model *model, struct shown_type *shown)
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
    shown->accesses = analysis_share_of_accesses(model->analysis, all, model_whole(model));
    free(labels);
    free(members);
}

/* --- Rows and tables ---------------------------------------------------------------------- */

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
                                   : cell_value(CELL_BYTES, (double)struct_padding(&used->members));
    row->cells[TYPE_VERDICT] = cell_text(document, struct_advice_name(shown->advice.kind));
    row->cells[TYPE_ADVICE] = cell_text(document, shown->advice.text);
    if (shown->advice.order.lines_now > 0)
        row->cells[TYPE_LINES] = cell_value(CELL_NUMBER, shown->advice.order.lines_now);
    if (shown->advice.kind == STRUCT_REORDER) {
        row->cells[TYPE_LINES_THEN] = cell_value(CELL_NUMBER, shown->advice.order.lines_then);
        row->cells[TYPE_SIZE_THEN] = cell_value(CELL_BYTES, (double)shown->advice.order.size);
    }
    row->cells[TYPE_MEMBERS] = cell_table(struct_member_table(shown, document, NULL, NULL));
    row->cells[TYPE_TOGETHER] = cell_table(struct_pair_table(used, document));
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
    struct table *table = struct_member_table(shown, document, title, basis);

    table_remark(document, table, shown->advice.text);
    section_table(section, table);
    free(basis);
    free(title);
    free(misses);
    free(accesses);
    free(objects);
}

/* --- The section -------------------------------------------------------------------------- */

/* Types and modules with fewer of the accesses tell nothing of a program's time. */
static const double share_min = 0.01;

/* The modules that the most accesses are left without a type for. "" or "a, b". */
static char *modules_without_types(const struct type_uses *uses)
{
    enum { NAMED_MAX = 3 };
    char *list = copy_string("");

    for (size_t i = 0; i < uses->without_debug.count && i < NAMED_MAX; i++) {
        if (uses->without_debug.items[i].accesses < share_min * uses->accesses)
            break;

        char *longer = format_string("%s%s%s", list, i > 0 ? ", " : "",
                                     symbol_module_name(uses->without_debug.items[i].module));

        free(list);
        list = longer;
    }
    return list;
}

/* What is not in the tables, and why. */
static void say_untyped(struct document *document, struct section *section,
                        const struct type_uses *uses, size_t shown)
{
    char *share, *modules, *causes, *text;

    if (shown > 0 && uses->untyped < 0.1 * uses->accesses)
        return;
    share = number_percent(uses->accesses > 0 ? uses->untyped / uses->accesses : 0);
    modules = modules_without_types(uses);
    causes =
        *modules != '\0'
            ? format_string("stacks, numbers in heap blocks without a variable's name, modules "
                            "without debug information (%s). Compile with -g, and keep",
                            modules)
            : copy_string("stacks, numbers in heap blocks without a variable's name. Keep");
    text = format_string("%s%s %% of the accesses are to data of unknown type: %s the sources "
                         "where the compiler found them.",
                         shown == 0 ? "No structure is known. " : "", share, causes);
    section_paragraph(document, section, "structs_untyped", text);
    free(text);
    free(causes);
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
        if (fold_structure(model, uses->types.items[i].members.file))
            continue;
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
    say_untyped(document, section, uses, count);
    free(shown);
    type_uses_free(uses);
}
