/* SPDX-License-Identifier: BSD-3-Clause */
/* --placement: a place for each thread, what it saves, and how to bind the threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "path_name.h"
#include "placement/binding.h"
#include "placement/scotch_map.h"
#include "report/placement/placement_answer.h"
#include "report/sections/sections.h"
#include "support/memory.h"

/* "machine / 2 packages / 8 L3 caches / 64 cores" */
static char *describe_tree(const struct placement_tree *tree)
{
    char *text = copy_string("1 machine"), *longer;

    for (size_t level = 1; level <= tree->level_count; level++) {
        bool leaf = level == tree->level_count;
        size_t count = leaf ? tree->places : tree->levels[level].groups;

        longer = format_string("%s / %zu %s%s", text, count,
                               leaf ? tree->unit : tree->levels[level].name, count == 1 ? "" : "s");
        free(text);
        text = longer;
    }
    return text;
}

/* "12.3 % +- 1.1" */
static char *saving_text(struct estimate saving)
{
    /* No minus sign before a zero. */
    double percent = 100 * saving.value, rounded = fabs(percent) < 0.05 ? 0 : percent;

    return format_string("%.1f %% +- %.1f", rounded, 100 * saving.hi - percent);
}

static void add_facts(struct placement_answer *answer, struct document *document,
                      struct section *section)
{
    const struct placement_problem *problem = answer->problem;
    const struct placement_tree *tree = problem->tree;
    char *levels = describe_tree(tree), *text, *count = number_count(problem->transfers.value);

    text = format_string("%s: %s", problem->topology, levels);
    section_fact_as(document, section, "placement.topology", "Machine", INTERVAL_NONE,
                    cell_text(document, problem->topology), text);
    free(text);
    section_fact(section, "placement.levels", NULL, INTERVAL_NONE, cell_text(document, levels));
    free(levels);
    text = format_string("%zu to place, %zu idle; %zu places (%ss)%s", problem->rows,
                         problem->threads.count - problem->rows, tree->places, tree->unit,
                         problem->rows > tree->places ? ": oversubscribed, evenly" : "");
    section_fact_as(document, section, "placement.threads", "Threads", INTERVAL_NONE,
                    cell_value(CELL_NUMBER, (double)problem->rows), text);
    free(text);
    section_fact(section, "placement.places", NULL, INTERVAL_NONE,
                 cell_value(CELL_NUMBER, (double)tree->places));
    section_fact(section, "placement.oversubscribed", NULL, INTERVAL_NONE,
                 cell_truth(problem->rows > tree->places));
    text = format_string("%s%s, %.3g per 1000 accesses", count,
                         problem->model->exact ? "" : " (estimated)",
                         problem->model->accesses.value > 0
                             ? 1000 * problem->transfers.value / problem->model->accesses.value
                             : 0);
    section_fact_as(document, section, "placement.transfers", "Transfers", INTERVAL_OBJECT,
                    cell_estimate(CELL_COUNT, problem->transfers), text);
    free(text);
    free(count);
    text = format_string("%.1f (0: all pairs alike)", answer->heterogeneity);
    section_fact_as(document, section, "placement.heterogeneity", "Heterogeneity", INTERVAL_NONE,
                    cell_value(CELL_NUMBER, answer->heterogeneity), text);
    free(text);
    section_fact(section, "placement.saving.over_random", NULL, INTERVAL_OBJECT,
                 cell_estimate(CELL_SHARE, answer->gain.over_random));
    section_fact(section, "placement.saving.over_identity", NULL, INTERVAL_OBJECT,
                 cell_estimate(CELL_SHARE, answer->gain.over_identity));
    section_fact(section, "placement.random_median", NULL, INTERVAL_NONE,
                 cell_value(CELL_COUNT, answer->random_median));
    if (answer->room && answer->edge_level > 0)
        section_fact(section, "placement.conflict", NULL, INTERVAL_NONE,
                     cell_truth(answer->conflict));
    section_fact(section, "placement.style", NULL, INTERVAL_NONE,
                 cell_text(document, answer->chosen == PLACEMENT_SPREAD_OUT ? "spread" : "packed"));
}

/* Fewer places than threads: no mapping can give each a place of its own. */
static void add_shortage(const struct placement_problem *problem, struct document *document,
                         struct section *section)
{
    const struct placement_tree *tree = problem->tree;
    size_t most = (problem->rows + tree->places - 1) / tree->places;
    char *text;

    if (problem->rows <= tree->places)
        return;
    text = format_string("The machine has fewer %ss than the profile has threads at work, %zu for "
                         "%zu: up to %zu threads share one and take turns, in any mapping.",
                         strcmp(tree->unit, "cpu") == 0 ? "CPU" : tree->unit, tree->places,
                         problem->rows, most);
    section_paragraph(document, section, NULL, text);
    free(text);
}

static void add_mapper_note(struct document *document, struct section *section)
{
    if (!scotch_is_built_in())
        section_paragraph(document, section, NULL,
                          "Built without Scotch: the mapping is the better of two simple ones, "
                          "improved by exchanges; with more than a few threads, partitioning "
                          "finds better ones.");
}

/* Whether to bind at all, in a sentence or two. */
static void add_verdict_text(struct placement_answer *answer, struct document *document,
                             struct section *section)
{
    static const char judged[] = "judged by transfers that the mapping was not made from";
    char *random = saving_text(answer->gain.over_random);
    char *identity = saving_text(answer->gain.over_identity);
    const char *verdict = "matters";
    char *text;

    if (answer->problem->matrix->total <= 0 && !answer->problem->model->exact) {
        verdict = "no communication seen";
        text = format_string("None of the %zu bursts saw data move between threads: there is "
                             "little communication, or too few bursts to tell.",
                             answer->problem->model->bursts);
    } else if (answer->problem->matrix->total <= 0) {
        verdict = "no communication";
        text = copy_string("The threads move no data between them: for communication, placement "
                           "does not matter here.");
    } else if (!answer->matters) {
        verdict = "does not matter";
        text = format_string("Placement does not matter here: the best mapping found saves %s of "
                             "the hop-bytes of random ones (%s); the heterogeneity is %.1f.",
                             random, judged, answer->heterogeneity);
    } else if (answer->chosen == PLACEMENT_SPREAD_OUT) {
        text = format_string("Bind the threads as found, partners together and groups far apart: "
                             "it saves %s of the hop-bytes of random mappings (%s).",
                             random, judged);
    } else if (answer->chosen == PLACEMENT_IDENTITY) {
        verdict = "identity is as good";
        text = format_string("Bind the threads close to each other in order of creation: the "
                             "mapping found saves %s of the hop-bytes of random ones, but %s of "
                             "the identity's (%s).",
                             random, identity, judged);
    } else {
        text = format_string("Bind the threads as found: it saves %s of the hop-bytes of random "
                             "mappings, %s of the identity's (%s).",
                             random, identity, judged);
    }
    section_fact(section, "placement.verdict", NULL, INTERVAL_NONE, cell_text(document, verdict));
    section_paragraph(document, section, NULL, text);
    free(text);
    free(identity);
    free(random);
}

/* When threads could sit closer or farther apart, and it is not the same to the caches. */
static void add_conflict(struct placement_answer *answer, struct document *document,
                         struct section *section)
{
    const struct placement_candidate *packed = &answer->candidates[PLACEMENT_PACKED];
    const struct placement_candidate *spread = &answer->candidates[PLACEMENT_SPREAD_OUT];
    const char *cache = answer->problem->tree->levels[answer->edge_level].name;
    char *text, *near, *far, *missed[2], *moved[2];

    if (!answer->room || answer->edge_level == 0)
        return;
    near = number_count(packed->edge.busiest);
    far = number_count(spread->edge.busiest);
    missed[0] = number_count(packed->edge.misses);
    missed[1] = number_count(spread->edge.misses);
    moved[0] = number_count(packed->edge.transfers);
    moved[1] = number_count(spread->edge.transfers);
    text = format_string(
        "%s Packed, the threads fetch %s lines into their %ss and pass %s between them; spread, %s "
        "and %s (modelled from each thread's curve, as if they shared no data). The busiest %s "
        "then sees %s and %s lines: %s.%s",
        answer->conflict ? "Packing and spreading are in conflict."
                         : "There are more cores than threads.",
        missed[0], cache, moved[0], missed[1], moved[1], cache, near, far,
        answer->spread_wins ? "spreading is cheaper" : "packing is no dearer",
        answer->conflict ? " --placement=pack or --placement=spread decides otherwise." : "");
    section_paragraph(document, section, NULL, text);
    free(text);
    free(near);
    free(far);
    for (size_t i = 0; i < 2; i++) {
        free(missed[i]);
        free(moved[i]);
    }
}

/* mapping, hop-bytes, of random, quality, one column per level, and the edge of the caches */
static void add_costs(struct placement_answer *answer, struct document *document,
                      struct section *section)
{
    const struct placement_tree *tree = answer->problem->tree;
    size_t levels = tree->level_count, count = 4 + (levels - 1) + 3;
    struct column *columns = document_columns(document, count);
    struct table *table;
    struct row *row;

    columns[0] = (struct column){.key = "mapping", .heading = "mapping"};
    columns[1] = (struct column){
        .key = "hop_bytes",
        .heading = "hop-bytes",
        .note = "hop-bytes: transfers times edges of the machine's tree, less is better."};
    columns[2] = (struct column){.key = "of_random", .heading = "of random\n%"};
    columns[3] = (struct column){.key = "quality",
                                 .heading = "quality",
                                 .optional = true,
                                 .note = "quality: EagerMap's, more is better."};
    for (size_t level = 1; level < levels; level++) {
        char *key = format_string("kept.%s", tree->levels[level].name);
        char *heading = format_string("in %s\n%%", tree->levels[level].name);

        columns[3 + level] = (struct column){
            .key = document_string(document, key),
            .heading = document_string(document, heading),
            .note = level == 1 ? "in: part of the transfers that stays inside one." : NULL};
        free(key);
        free(heading);
    }
    columns[count - 3] = (struct column){.key = "cache_misses"};
    columns[count - 2] = (struct column){.key = "cache_transfers"};
    columns[count - 1] = (struct column){.key = "busiest_cache"};
    table = document_table(document, "placement.costs", "What mappings cost",
                           answer->problem->model->exact ? "from counted transfers"
                                                         : "from estimated transfers",
                           columns, count);
    for (size_t i = 0; i < PLACEMENT_CANDIDATES; i++) {
        const struct placement_candidate *candidate = &answer->candidates[i];

        if (i == PLACEMENT_SPREAD_OUT && !answer->room)
            continue;
        row = table_row(table);
        row->cells[0] = cell_text(document, candidate->name);
        row->cells[1] = cell_value(CELL_COUNT, candidate->hop_bytes);
        if (answer->random_median > 0)
            row->cells[2] = cell_value(CELL_SHARE, candidate->hop_bytes / answer->random_median);
        row->cells[3] = cell_value(CELL_COUNT, candidate->quality);
        for (size_t level = 1; level < levels; level++)
            row->cells[3 + level] = cell_value(CELL_SHARE, candidate->share[level]);
        if (answer->edge_level > 0) {
            row->cells[count - 3] = cell_value(CELL_COUNT, candidate->edge.misses);
            row->cells[count - 2] = cell_value(CELL_COUNT, candidate->edge.transfers);
            row->cells[count - 1] = cell_value(CELL_COUNT, candidate->edge.busiest);
        }
    }
    row = table_row(table);
    row->cells[0] = cell_text(document, "random, median of 1000");
    row->cells[1] = cell_value(CELL_COUNT, answer->random_median);
    if (answer->random_median > 0)
        row->cells[2] = cell_value(CELL_SHARE, 1);
    section_table(section, table);
}

static const struct column mapping_columns[] = {
    {.key = "thread", .heading = "thread"},
    {.key = "tid", .heading = "tid"},
    {.key = "name", .heading = "name", .flexible = true},
    {.key = "transfers", .heading = "transfers"},
    {.key = "cpu", .heading = "cpu"},
};

static void add_mapping(struct placement_answer *answer, struct document *document,
                        struct section *section)
{
    const struct placement_problem *problem = answer->problem;
    const uint32_t *place = answer->candidates[answer->chosen].place;
    size_t shown = problem->threads.count;
    struct table *table =
        document_table(document, "placement.mapping", "Where each thread goes",
                       "threads in order of their creation, 0 is the main thread", mapping_columns,
                       sizeof(mapping_columns) / sizeof(*mapping_columns));

    if (problem->model->options->format == FORMAT_TEXT && problem->model->options->output == NULL &&
        shown > 64)
        shown = 64;
    for (size_t i = 0; i < shown; i++) {
        const struct placed_thread *thread = &problem->threads.items[i];
        struct row *row = table_row(table);

        row->cells[0] = cell_value(CELL_NUMBER, thread->creation);
        row->cells[1] = cell_value(CELL_NUMBER, thread->tid);
        row->cells[2] = cell_text(document, thread->name);
        row->cells[3] = cell_value(CELL_COUNT, thread->transfers);
        if (thread->row != GROUP_NONE)
            row->cells[4] = cell_value(CELL_NUMBER, problem->tree->cpu[place[thread->row]]);
    }
    if (shown < problem->threads.count)
        table_remark(document, table, "More threads: -o FILE has them all.");
    else if (problem->rows < problem->threads.count)
        table_remark(document, table,
                     "Threads without a CPU ran for less than 2 % of the busiest one's time.");
    section_table(section, table);
}

/* The process's OpenMP runtime, by the libraries that it loaded. */
static enum openmp_runtime openmp_of(const struct profile *profile)
{
    enum openmp_runtime found = OPENMP_NONE;

    for (size_t i = 0; i < profile->modules.count; i++) {
        const char *name = path_name(profile->modules.items[i]->path);

        if (strncmp(name, "libgomp", 7) == 0)
            return OPENMP_GNU;
        if (strncmp(name, "libomp", 6) == 0 || strncmp(name, "libiomp", 7) == 0 ||
            strncmp(name, "libfj90", 7) == 0)
            found = OPENMP_OTHER;
    }
    return found;
}

static const struct column binding_columns[] = {{.key = "tool"}, {.key = "binds"}, {.key = "text"}};

static void add_bindings(struct placement_answer *answer, struct document *document,
                         struct section *section)
{
    const struct placement_problem *problem = answer->problem;
    const struct placement_candidate *chosen = &answer->candidates[answer->chosen];
    unsigned *cpus = allocate_zeroed(problem->rows, sizeof(*cpus));
    struct binding list[BINDINGS_MAX];
    struct table *table =
        document_table(document, "placement.bindings", NULL, NULL, binding_columns,
                       sizeof(binding_columns) / sizeof(*binding_columns));
    char *text = copy_string(""), *longer;
    size_t count;

    for (size_t i = 0; i < problem->rows; i++)
        cpus[i] = problem->tree->cpu[chosen->place[i]];
    count = binding_list(cpus, problem->rows, openmp_of(problem->model->profiles[0]),
                         problem->rows == problem->threads.count, list);
    for (size_t i = 0; i < count; i++) {
        struct row *row = table_row(table);

        row->cells[0] = cell_text(document, list[i].tool);
        row->cells[1] = cell_text(document, list[i].binds);
        row->cells[2] = cell_text(document, list[i].text);
        longer = format_string("%s  # binds %s:\n    %s\n", text, list[i].binds, list[i].text);
        free(text);
        text = longer;
    }
    section_paragraph(document, section, NULL,
                      "To bind each thread: reuse-report --placement -o FILE writes a mapping, "
                      "reuse-run --place FILE PROGRAM applies it. Or put one of these before the "
                      "program:");
    /* As it is, not broken into lines: it is to be pasted. */
    section_grid(document, section, (struct grid){.title = "Ready to paste", .text = text});
    free(text);
    section_table(section, table);
    section_paragraph(document, section, NULL,
                      "OpenMP's thread i is taken to be the i-th that was created, as the common "
                      "runtimes have it in the first parallel region.");
    if (problem->tree->hypothetical && problem->model->options->topology != NULL)
        section_paragraph(document, section, NULL, "CPU numbers are those of the given topology.");
    binding_list_free(list, count);
    free(cpus);
}

/* The mapping as reuse-run --place reads it. */
static void add_script(struct placement_answer *answer, struct document *document)
{
    const struct placement_problem *problem = answer->problem;
    const uint32_t *place = answer->candidates[answer->chosen].place;
    const char *program = profile_run_text(problem->model->profiles[0], "program", NULL);
    char *script;
    size_t size;
    FILE *stream = open_text(&script, &size);

    if (program != NULL)
        fprintf(stream, "program %s\n", path_name(program));
    for (size_t i = 0; i < problem->threads.count; i++) {
        uint32_t row = problem->threads.items[i].row;

        if (row != GROUP_NONE)
            fprintf(stream, "thread %zu %u\n", i, problem->tree->cpu[place[row]]);
        else
            fprintf(stream, "thread %zu any\n", i);
    }
    fclose(stream);
    document->script = document_string(document, script);
    free(script);
}

static void say_answer(struct placement_answer *answer, struct document *document,
                       struct section *section)
{
    add_facts(answer, document, section);
    add_shortage(answer->problem, document, section);
    add_verdict_text(answer, document, section);
    add_conflict(answer, document, section);
    /* Neither communication nor caches have anything to say. */
    if (!answer->room && answer->problem->matrix->total <= 0)
        return;
    add_mapper_note(document, section);
    add_costs(answer, document, section);
    add_mapping(answer, document, section);
    add_bindings(answer, document, section);
    add_script(answer, document);
}

void section_placement(struct model *model, struct document *document)
{
    struct section *section =
        document_section(document, "placement", "A place for each thread", true);
    struct placement_answer answer = {0};
    char message[512] = "";

    answer.problem = placement_problem_create(model, message, sizeof(message));
    if (answer.problem != NULL && answer.problem->rows < 2) {
        section_fact(section, "placement.verdict", NULL, INTERVAL_NONE,
                     cell_text(document, "one thread"));
        section_paragraph(document, section, NULL,
                          "There is one thread at work: nothing to place.");
    } else if (answer.problem != NULL && placement_answer_find(&answer, message, sizeof(message))) {
        say_answer(&answer, document, section);
    } else {
        section_fact(section, "placement.verdict", NULL, INTERVAL_NONE, cell_empty());
        section_fact(section, "placement.reason", NULL, INTERVAL_NONE,
                     cell_text(document, message));
        section_paragraph(document, section, NULL, message);
    }
    placement_answer_free(&answer);
}
