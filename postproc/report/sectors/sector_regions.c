/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions for sector advice: functions that use data late, and the whole. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/histogram_bin.h"
#include "report/sectors/sector_hints.h"
#include "report/sectors/sector_structures.h"

enum { KERNELS_MAX = 5, CALLERS_MAX = 2 };

/* Least part of all late uses of a function that makes them itself, and of one that calls it. */
#define KERNEL_MIN 0.02
#define CALLER_MIN 0.10
/* Less than this of a function's late uses in its own code: it only calls those that make them. */
#define OWN_MIN 0.1
/* Functions whose parts differ by less are one for advice. */
#define ALIKE 0.02
/* A function that holds this part of everything is the whole. */
#define NEARLY_ALL 0.99

/* A function, or a span of the API. Late: not used again in the burst. */
struct function {
    const char *name, *file;
    bool span;
    double weight, late, own_late; /* accesses made in it and below; in its own code */
    uint32_t first_line, last_line;
    uint32_t region; /* bit number, or GROUP_NONE */
};

/* The functions of a calling context, innermost first, each once. */
struct chain {
    struct link {
        uint32_t function;
        const char *file;
        uint32_t line;
    } * links;
    size_t count;
};

struct survey {
    struct model *model;
    struct intern_table *function_keys, *chain_keys;
    ARRAY(struct function) functions;
    ARRAY(struct chain) chains;
    uint32_t *chain_of; /* by observation; GROUP_NONE: not asked for */
    double weight, late;
};

static uint32_t function_number(struct survey *survey, const char *name, bool span)
{
    struct {
        const char *name;
        uint64_t span;
    } key = {name, span};
    uint32_t number = intern_table_insert(survey->function_keys, &key, sizeof(key));
    struct function function = {.name = name, .span = span, .region = GROUP_NONE};

    if (number == survey->functions.count)
        ARRAY_PUSH(&survey->functions, function);
    return number;
}

static void add_link(struct chain *chain, uint32_t function, const char *file, uint32_t line)
{
    for (size_t i = 0; i < chain->count; i++)
        if (chain->links[i].function == function)
            return;
    chain->links = reallocate(chain->links, chain->count + 1, sizeof(*chain->links));
    chain->links[chain->count++] = (struct link){function, file, line};
}

/* Libraries that nobody writes directives into. */
static bool is_system_code(const struct location *location)
{
    static const char *const libraries[] = {"libc.so",      "libm.so",    "ld-linux",
                                            "libpthread",   "libgomp.so", "libomp.so",
                                            "libstdc++.so", "libgfortran"};
    const char *name = location->module != NULL ? symbol_module_name(location->module) : "";

    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
        if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
            return true;
    return false;
}

/* Frames without source are left out: no advice can be given for them. */
static void add_code(struct survey *survey, struct chain *chain, size_t profile, uint64_t ip,
                     uint64_t monotonic_ns, bool after)
{
    struct model *model = survey->model;
    uint32_t number = resolver_code(model->resolver, profile, ip, monotonic_ns, after);
    const struct location *location = resolver_location(model->resolver, number);
    source_frames frames = location->frames;

    if (is_system_code(location))
        return;
    for (size_t i = 0; i < frames.count; i++)
        if (frames.items[i].function != NULL && frames.items[i].file != NULL)
            add_link(chain, function_number(survey, frames.items[i].function, false),
                     frames.items[i].file, frames.items[i].line);
}

static struct chain make_chain(struct survey *survey, size_t profile,
                               const struct analysed_probe *probe, const struct record_burst *burst)
{
    const struct profile *file = survey->model->profiles[profile];
    const struct record_context *context = profile_context(file, probe->context_id);
    const struct record_region *region =
        burst->region_id ? profile_region(file, burst->region_id) : NULL;
    struct chain chain = {0};
    bool after = false;

    if (context == NULL)
        add_code(survey, &chain, profile, probe->ip, burst->monotonic_ns, false);
    for (; context != NULL; context = profile_context(file, context->parent_id)) {
        add_code(survey, &chain, profile, context->ip, burst->monotonic_ns, after);
        after = true;
    }
    if (region != NULL) {
        const char *name = intern_table_string(survey->model->strings, region->name);

        add_link(&chain, function_number(survey, name, true), NULL, 0);
    }
    return chain;
}

static void count_line(struct function *function, const struct link *link)
{
    if (link->file == NULL || link->line == 0)
        return;
    if (function->file == NULL)
        function->file = link->file;
    if (strcmp(function->file, link->file) != 0)
        return;
    if (function->first_line == 0 || link->line < function->first_line)
        function->first_line = link->line;
    if (link->line > function->last_line)
        function->last_line = link->line;
}

static void count_uses(struct survey *survey, const struct chain *chain, double weight, double late)
{
    survey->weight += weight;
    survey->late += late;
    for (size_t i = 0; i < chain->count; i++) {
        struct function *function = &survey->functions.items[chain->links[i].function];

        function->weight += weight;
        if (late <= 0)
            continue;
        function->late += late;
        function->own_late += i == 0 || function->span ? late : 0;
        count_line(function, &chain->links[i]);
    }
}

static void take_survey(struct survey *survey)
{
    struct model *model = survey->model;

    for (size_t i = 0; i < model->observations; i++) {
        struct {
            uint64_t profile, context, ip, region;
        } key = {0};
        size_t profile;
        const struct analysed_probe *probe = analysis_probe(model->analysis, i, &profile);
        const struct record_burst *burst = analysis_probe_burst(model->analysis, i);

        survey->chain_of[i] = GROUP_NONE;
        if (model->region != NULL && model->region[i] == GROUP_NONE)
            continue;
        key.profile = profile;
        key.context = probe->context_id;
        key.ip = probe->context_id == 0 ? probe->ip : 0;
        key.region = burst->region_id;
        survey->chain_of[i] = intern_table_insert(survey->chain_keys, &key, sizeof(key));
        if (survey->chain_of[i] == survey->chains.count)
            ARRAY_PUSH(&survey->chains, make_chain(survey, profile, probe, burst));
        count_uses(survey, &survey->chains.items[survey->chain_of[i]],
                   analysis_probe_weight(model->analysis, i), sector_late_uses(model, i));
    }
}

static void add_region(struct sector_regions *regions, struct function *function)
{
    function->region = (uint32_t)regions->count;
    regions->items[regions->count++] =
        (struct sector_region){.name = function->name,
                               .span = function->span,
                               .only_calls = function->own_late < OWN_MIN * function->late,
                               .file = function->file,
                               .first_line = function->first_line,
                               .last_line = function->last_line};
}

/* main, when it holds nearly everything; else a name that no function has. */
static void add_whole(struct survey *survey, struct sector_regions *regions)
{
    const char *asked = survey->model->options->region;
    const char *name = asked != NULL ? asked : "main";
    double least = asked != NULL ? 0 : NEARLY_ALL * survey->weight;

    for (size_t i = 0; i < survey->functions.count && regions->count == 0; i++) {
        struct function *function = &survey->functions.items[i];

        if (strcmp(function->name, name) == 0 && function->weight >= least)
            add_region(regions, function);
    }
    if (regions->count == 0)
        regions->items[regions->count++] =
            (struct sector_region){.name = asked != NULL ? asked : "(all)"};
    regions->items[0].whole = true;
}

static bool is_like_another(const struct survey *survey, const struct function *function)
{
    if (function->late >= NEARLY_ALL * survey->late)
        return true;
    for (size_t i = 0; i < survey->functions.count; i++) {
        const struct function *other = &survey->functions.items[i];

        if (other->region != GROUP_NONE &&
            fabs(other->late - function->late) <= ALIKE * survey->late)
            return true;
    }
    return false;
}

/* The function with most late uses that is not chosen yet; NULL: none has enough. */
static struct function *next_function(struct survey *survey, bool kernel)
{
    struct function *best = NULL;
    double most = (kernel ? KERNEL_MIN : CALLER_MIN) * survey->late;

    for (size_t i = 0; i < survey->functions.count; i++) {
        struct function *function = &survey->functions.items[i];
        double value = kernel ? function->own_late : function->late;

        if (function->region != GROUP_NONE || value <= 0 || value < most ||
            (!kernel && is_like_another(survey, function)))
            continue;
        best = function;
        most = value;
    }
    return best;
}

static void choose_by_probes(struct model *model, struct sector_regions *regions)
{
    struct survey survey = {.model = model,
                            .function_keys = intern_table_create(),
                            .chain_keys = intern_table_create(),
                            .chain_of =
                                allocate_zeroed(model->observations, sizeof(*survey.chain_of))};
    struct function *function;

    take_survey(&survey);
    add_whole(&survey, regions);
    for (int i = 0; model->options->region == NULL && i < KERNELS_MAX + CALLERS_MAX; i++)
        if ((function = next_function(&survey, i < KERNELS_MAX)) != NULL)
            add_region(regions, function);
    for (size_t i = 0; i < model->observations; i++) {
        if (survey.chain_of[i] == GROUP_NONE)
            continue;
        regions->of[i] = 1;
        for (size_t k = 0; k < survey.chains.items[survey.chain_of[i]].count; k++) {
            uint32_t number = survey.chains.items[survey.chain_of[i]].links[k].function;
            uint32_t region = survey.functions.items[number].region;

            regions->of[i] |= region != GROUP_NONE ? UINT32_C(1) << region : 0;
        }
    }
    for (size_t i = 0; i < survey.chains.count; i++)
        free(survey.chains.items[i].links);
    free(survey.chains.items);
    free(survey.functions.items);
    free(survey.chain_of);
    intern_table_free(survey.chain_keys);
    intern_table_free(survey.function_keys);
}

/* Regions of an exact profile: those with counts of objects or of divided caches. */
struct counted_region {
    size_t profile;
    uint32_t region_id;
    double accesses, late;
};

static double late_uses(const struct model *model, const struct record_histogram *histogram)
{
    double lines = (double)model->machine.caches[0].bytes / analysis_line_size(model->analysis);
    double late = (double)histogram->cold;

    for (uint32_t i = 0; i < histogram->bin_count; i++)
        if ((double)histogram_bin_low(histogram->bins[i].bin) >= lines)
            late += (double)histogram->bins[i].count;
    return late;
}

static bool has_objects(const struct model *model, size_t profile, uint32_t region_id)
{
    for (size_t i = 0; i < model->observations; i++) {
        size_t other;
        const struct record_histogram *histogram = analysis_histogram(model->analysis, i, &other);

        if (other == profile && histogram->region_id == region_id &&
            (histogram->scope == SCOPE_OBJECT || histogram->scope == SCOPE_PARTITION))
            return true;
    }
    return false;
}

static int compare_regions(const void *left, const void *right)
{
    const struct counted_region *a = left, *b = right;

    if (a->late != b->late)
        return a->late > b->late ? -1 : 1;
    return a->region_id < b->region_id ? -1 : a->region_id > b->region_id;
}

/* Marks what counts a region: its whole, and its objects in divided and undivided caches. */
static void mark_region(struct model *model, struct sector_regions *regions,
                        const struct counted_region *region, size_t bit)
{
    for (size_t i = 0; i < model->observations; i++) {
        size_t profile;
        const struct record_histogram *histogram = analysis_histogram(model->analysis, i, &profile);
        uint32_t id =
            histogram->scope == SCOPE_REGION ? (uint32_t)histogram->key : histogram->region_id;

        if (profile == region->profile && id == region->region_id)
            regions->of[i] |= UINT32_C(1) << bit;
    }
}

/* Where the instructions of a function lie in its source. */
static void find_lines(struct model *model, struct sector_region *region)
{
    struct function function = {.name = region->name};

    model_label_lines(model);
    for (size_t i = 0; i < model->lines.count; i++) {
        struct link link = {.file = model->lines.items[i].file, .line = model->lines.items[i].line};

        if (strcmp(model->lines.items[i].function, region->name) == 0)
            count_line(&function, &link);
    }
    region->file = function.file;
    region->first_line = function.first_line;
    region->last_line = function.last_line;
}

static void choose_histograms(struct model *model, struct sector_regions *regions)
{
    ARRAY(struct counted_region) counted = {0};
    double accesses = analysis_accesses(model->analysis).value;

    for (size_t i = 0; i < model->observations; i++) {
        struct counted_region region = {0};
        const struct record_histogram *histogram =
            analysis_histogram(model->analysis, i, &region.profile);

        region.region_id = (uint32_t)histogram->key;
        region.accesses = (double)histogram->accesses;
        region.late = late_uses(model, histogram);
        if (histogram->scope == SCOPE_REGION && histogram->measure == MEASURE_STACK_DISTANCE &&
            (model->region == NULL || model->region[i] != GROUP_NONE) &&
            profile_region(model->profiles[region.profile], region.region_id) != NULL &&
            has_objects(model, region.profile, region.region_id))
            ARRAY_PUSH(&counted, region);
    }
    if (counted.count > 0)
        qsort(counted.items, counted.count, sizeof(counted.items[0]), compare_regions);
    /* A function that holds nearly everything stands for the whole. */
    if (model->region == NULL &&
        (counted.count == 0 || counted.items[0].accesses < NEARLY_ALL * accesses)) {
        regions->items[regions->count++] = (struct sector_region){.name = "(all)", .whole = true};
        for (size_t i = 0; i < model->observations; i++) {
            const struct record_histogram *histogram = analysis_histogram(model->analysis, i, NULL);

            if (histogram->region_id == 0 && histogram->scope != SCOPE_REGION)
                regions->of[i] = 1;
        }
    }
    for (size_t i = 0; i < counted.count && regions->count < 1 + KERNELS_MAX + CALLERS_MAX; i++) {
        const struct record_region *record =
            profile_region(model->profiles[counted.items[i].profile], counted.items[i].region_id);
        struct sector_region *region = &regions->items[regions->count];

        *region = (struct sector_region){
            .name = record->name, .whole = regions->count == 0, .span = record->entry_ip == 0};
        if (!region->span)
            find_lines(model, region);
        mark_region(model, regions, &counted.items[i], regions->count++);
    }
    free(counted.items);
}

void sector_regions_find(struct model *model, struct sector_regions *regions)
{
    regions->of = allocate_zeroed(model->observations, sizeof(*regions->of));
    if (model->exact)
        choose_histograms(model, regions);
    else
        choose_by_probes(model, regions);
}
