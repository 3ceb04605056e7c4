/* SPDX-License-Identifier: BSD-3-Clause */
/* The two sides of a comparison, and what makes them hard to compare. See compare.h. */
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "path_name.h"
#include "report/compare/compare.h"

static const char *const side_names[SIDES] = {"before", "after"};

void comparison_side_init(struct comparison_side *side, struct model *model)
{
    side->model = model;
    side->texts = line_texts_create(model);
    figures_of(model, true, &side->figures);
}

void comparison_side_free(struct comparison_side *side)
{
    line_texts_free(side->texts);
}

/* The program's file without its folder. */
static const char *program_of(const struct model *model)
{
    return path_name(profile_run_text(model->profiles[0], "program", "unknown program"));
}

static const char *engine_of(const struct model *model)
{
    return profile_run_text(model->profiles[0], "engine", "unknown");
}

static void add_fact(struct document *document, struct section *section, const char *side,
                     const char *what, struct cell cell)
{
    char *key = format_string("diff.%s.%s", side, what);

    section_fact(section, document_string(document, key), NULL, INTERVAL_NONE, cell);
    free(key);
}

static void add_side(const struct comparison_side *side, enum side number,
                     struct document *document, struct section *section)
{
    const struct model *model = side->model;
    const char *name = side_names[number];
    char *bursts = number_count((double)model->bursts);
    char *more = model->profile_count > 1
                     ? format_string(" and %zu more, the mean of them", model->profile_count - 1)
                     : copy_string("");
    char *text = format_string("%s, engine %s%s%s (%s%s)", program_of(model), engine_of(model),
                               !model->exact          ? ", bursts: "
                               : model->line_rate > 1 ? ", a part of the lines followed"
                                                      : ", every access counted",
                               model->exact ? "" : bursts, model->profiles[0]->path, more);
    char *key = format_string("diff.%s.program", name);

    section_fact_as(document, section, document_string(document, key),
                    number == SIDE_BEFORE ? "Before" : "After", INTERVAL_NONE,
                    cell_text(document, profile_run_text(model->profiles[0], "program", NULL)),
                    text);
    free(key);
    add_fact(document, section, name, "engine", cell_text(document, engine_of(model)));
    add_fact(document, section, name, "file", cell_text(document, model->profiles[0]->path));
    add_fact(document, section, name, "files",
             cell_value(CELL_COUNT, (double)model->profile_count));
    add_fact(document, section, name, "exact", cell_truth(model->exact));
    add_fact(document, section, name, "bursts",
             model->exact ? cell_empty() : cell_value(CELL_COUNT, (double)model->bursts));
    free(text);
    free(more);
    free(bursts);
}

static void add_note(struct document *document, struct section *section, char *text)
{
    section_paragraph(document, section, "diff.notes", text);
    free(text);
}

static bool same_caches(const struct machine *a, const struct machine *b)
{
    if (a->levels != b->levels)
        return false;
    for (size_t i = 0; i < a->levels; i++)
        if (a->caches[i].bytes != b->caches[i].bytes)
            return false;
    return true;
}

static void add_obstacles(const struct model *before, const struct model *after,
                          struct document *document, struct section *section)
{
    unsigned line_before = analysis_line_size(before->analysis);
    unsigned line_after = analysis_line_size(after->analysis);

    if (strcmp(program_of(before), program_of(after)) != 0)
        add_note(document, section,
                 format_string("The programs have different names (%s, %s): what has the same "
                               "name in both is compared.",
                               program_of(before), program_of(after)));
    if (!same_caches(&before->machine, &after->machine))
        add_note(document, section,
                 copy_string("The runs were made on machines with different caches: each level is "
                             "that of its own machine. --machine NAME evaluates both for one."));
    if (line_before != line_after)
        add_note(document, section,
                 format_string("The runs have lines of %u and %u bytes: --line-size N evaluates "
                               "both for one.",
                               line_before, line_after));
    if (before->exact != after->exact)
        add_note(document, section,
                 copy_string("One run counted every access and the other one was sampled: an "
                             "error of the estimate that its interval leaves out would count as a "
                             "change."));
}

void add_compared_runs(struct comparison_side sides[SIDES], struct document *document,
                       struct section *section)
{
    section_fact(section, "schema", NULL, INTERVAL_NONE, cell_text(document, "reuse-report/1"));
    for (size_t side = 0; side < SIDES; side++)
        add_side(&sides[side], (enum side)side, document, section);
    add_obstacles(sides[SIDE_BEFORE].model, sides[SIDE_AFTER].model, document, section);
}
