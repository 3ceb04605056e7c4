/* SPDX-License-Identifier: BSD-3-Clause */
/* See sector_hints.h. */
#include "report/sectors/sector_hints.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/sectors/sector_structures.h"

enum {
    SCENARIOS_MAX = 3, /* structures whose isolation the histograms show */
    HISTOGRAM_REGIONS_MAX = 4,
    WARNED_MAX = 6 /* structures that are looked at for sectors that are too small */
};

/* Predictions for the A64FX were off by two to three percent of the misses (Breiter, Trotter and
 * Fuerlinger, PMBS 2023): a smaller gain is none. */
#define GAIN_MIN 0.02
/* More unobserved misses per access than this, relative to all of them: not known. */
#define UNKNOWN_MAX 0.1
/* Losing more than this part by too small a sector is worth a warning. */
#define LOSS_MIN 0.05
#define NO_LOSS 0.005
/* Differences between divisions that decide nothing: of counts, and of estimates from n late
 * uses in units of their deviation, 1/sqrt(n). */
#define NEARLY_EXACT 0.005
#define NEARLY_SAMPLED 1.0

static void describe_levels(struct sector_hints *hints)
{
    const struct machine *machine = &hints->model->machine;

    hints->threads = model_busy_threads(hints->model);
    for (size_t i = 0; i < machine->levels; i++) {
        const struct machine_cache *cache = &machine->caches[i];
        double sharing = machine_threads_sharing(machine, i, hints->threads);
        if (cache->sector_ways == 0)
            continue;
        hints->levels[i] = (struct sector_level){
            .lines_per_way = (double)cache->bytes / cache->ways /
                             analysis_line_size(hints->model->analysis) / sharing,
            .ways = cache->sector_ways,
            /* A sector of one way has one place for a line. What several cores stream through it
             * would evict each other's lines while they are in use. */
            .least = machine_threads_sharing(machine, i, 1e9) > 1 ? 2 : 1,
        };
    }
}

static bool check(const struct model *model, char *message, size_t size)
{
    const char *path = model->profiles[0]->path;
    bool divisible = false;

    for (size_t i = 0; i < model->machine.levels; i++)
        divisible |= model->machine.caches[i].sector_ways > 0;
    if (!divisible)
        snprintf(message, size,
                 "--sector-hints: %s has no sector cache: choose one that has by --machine (a64fx, "
                 "or a description with sector lines)",
                 model->machine.name);
    else if (model->exact && model->options->thread != 0)
        snprintf(message, size,
                 "--sector-hints: %s counts data objects for all threads together: leave out "
                 "--thread",
                 path);
    else if (model->observations == 0)
        snprintf(message, size, "--sector-hints: %s holds no bursts", path);
    else
        return true;
    return false;
}

static bool find_structures(struct sector_hints *hints, char *message, size_t size)
{
    model_label_objects(hints->model);
    sector_structures_choose(hints);
    if (hints->structure_count > 0)
        return true;
    snprintf(message, size,
             "--sector-hints: %s does not tell which data objects are used late (arrays and heap "
             "blocks; stacks cannot be isolated)",
             hints->model->profiles[0]->path);
    return false;
}

static void create_sectors(struct sector_hints *hints)
{
    struct sector_question question;

    sector_regions_find(hints->model, &hints->regions);
    sector_structures_label(hints);
    describe_levels(hints);
    question = (struct sector_question){.structure_of = hints->structure_of,
                                        .structures = hints->structure_count,
                                        .regions_of = hints->regions.of,
                                        .regions = hints->regions.count};
    hints->sectors = sector_model_create(hints->model->analysis, &question);
}

static enum sector_verdict judge(const struct sector_row *row)
{
    const struct estimate *gain = &row->outcome.reduction;
    double least = fmax(GAIN_MIN, row->model_error);

    if (row->undivided > 0 && row->outcome.unknown > UNKNOWN_MAX * row->undivided)
        return SECTOR_BEYOND;
    return gain->value >= least && gain->lo > 0 ? SECTOR_ISOLATE : SECTOR_NOTHING_TO_GAIN;
}

/* One row per region: the undivided cache is split 0, then three for each region. */
static void add_rows(struct sector_hints *hints, size_t level, const struct sector_choice *choices)
{
    enum { FEWER, CHOSEN, MORE, VARIANTS };
    const struct sector_level *of = &hints->levels[level];
    size_t regions = hints->regions.count, n = 1;
    struct sector_split splits[1 + SECTOR_REGIONS_MAX * VARIANTS] = {sector_split_of(*of, 0, 0)};
    struct sector_outcome *outcomes;

    for (size_t r = 0; r < regions; r++) {
        for (int v = 0; v < VARIANTS; v++) {
            unsigned ways = choices[r].ways + (unsigned)v - 1;
            bool possible = choices[r].isolated != 0 && ways >= 1 && ways < of->ways;
            splits[n++] = possible ? sector_split_of(*of, choices[r].isolated, ways) : splits[0];
        }
    }
    outcomes = allocate_zeroed(n * regions, sizeof(*outcomes));
    sector_compare(hints->sectors, splits, n, outcomes);
    for (size_t r = 0; r < regions; r++) {
        size_t first = 1 + r * VARIANTS;
        struct sector_row row = {
            .region = r,
            .level = level,
            .isolated = choices[r].isolated,
            .ways = choices[r].ways,
            .undivided = outcomes[r].misses.value,
            .outcome = outcomes[(first + CHOSEN) * regions + r],
            .has_fewer = splits[first + FEWER].isolated != 0,
            .has_more = splits[first + MORE].isolated != 0,
            .fewer = outcomes[(first + FEWER) * regions + r],
            .more = outcomes[(first + MORE) * regions + r],
            .basis = sector_basis(hints->sectors, &splits[first + CHOSEN], r),
            .model_error = sector_model_error(hints->sectors, &splits[first + CHOSEN], r)};
        row.verdict = judge(&row);
        if (row.isolated != 0 && row.basis != SECTOR_UNKNOWN)
            ARRAY_PUSH(&hints->rows, row);
    }
    free(outcomes);
}

/*
 * Of a warning what holds whatever bursts and watches did not see, and for a sector that is larger
 * by as much as estimated distances are off: the most ways in which the structure loses in the
 * worst case for the warning. 0: none. splits: room for the ways of the level.
 */
static unsigned most_certain_ways(struct sector_hints *hints, const struct sector_warning *warning,
                                  struct sector_split *splits, struct sector_outcome *outcomes)
{
    const struct sector_level *of = &hints->levels[warning->level];
    size_t regions = hints->regions.count;

    splits[0] = sector_split_of(*of, 0, 0);
    for (unsigned n = 1; n <= warning->ways; n++) {
        splits[n] = sector_split_of(*of, UINT64_C(1) << warning->structure, n);
        splits[n].isolated_lines *= 1 + SECTOR_MODEL_ERROR;
    }
    sector_compare(hints->sectors, splits, warning->ways + 1, outcomes);
    unsigned ways = warning->ways;
    while (ways > 0 && outcomes[ways * regions + warning->region].reduction.hi >= 0)
        --ways;
    return ways;
}

/* Of the warnings from `first` on, those that are certain. */
static void keep_certain_warnings(struct sector_hints *hints, size_t level, size_t first)
{
    size_t ways = hints->levels[level].ways, kept = first;
    struct sector_split *splits = allocate_zeroed(ways + 1, sizeof(*splits));
    struct sector_outcome *outcomes =
        allocate_zeroed((ways + 1) * hints->regions.count, sizeof(*outcomes));

    for (size_t i = first; i < hints->warnings.count; i++) {
        struct sector_warning warning = hints->warnings.items[i];
        unsigned certain = most_certain_ways(hints, &warning, splits, outcomes);
        if (certain == 0)
            continue;
        if (certain < warning.ways) {
            const struct sector_outcome *outcome =
                &outcomes[certain * hints->regions.count + warning.region];
            warning.ways = certain;
            warning.factor = 1 - outcome->reduction.value;
        }
        hints->warnings.items[kept++] = warning;
    }
    hints->warnings.count = kept;
    free(splits);
    free(outcomes);
}

/* What happens to structures that are put into too few ways. */
static void add_warnings(struct sector_hints *hints, size_t level)
{
    const struct sector_level *of = &hints->levels[level];
    size_t regions = hints->regions.count;
    struct sector_split *splits = allocate_zeroed(of->ways + 1, sizeof(*splits));
    double *values = allocate_zeroed((of->ways + 1) * regions, SECTOR_SIDES * sizeof(*values));
    size_t first = hints->warnings.count;

    for (uint32_t s = 0; s < hints->structure_count && s < WARNED_MAX; s++) {
        splits[0] = sector_split_of(*of, 0, 0);
        for (unsigned ways = 1; ways < of->ways; ways++)
            splits[ways] = sector_split_of(*of, UINT64_C(1) << s, ways);
        sector_misses(hints->sectors, splits, of->ways, values);
        for (size_t r = 0; r < regions; r++) {
            struct sector_warning warning = {r, level, s, 0, 0, 0};
            double whole = values[r * SECTOR_SIDES];
            for (unsigned ways = 1; ways < of->ways && warning.enough == 0; ways++) {
                const double *sides = &values[(ways * regions + r) * SECTOR_SIDES];
                double misses = sides[SECTOR_REST] + sides[SECTOR_ISOLATED];
                if (misses <= whole * (1 + NO_LOSS)) {
                    warning.enough = ways;
                } else if (misses > whole * (1 + LOSS_MIN)) {
                    warning.ways = ways;
                    warning.factor = misses / whole;
                }
            }
            if (hints->regions.items[r].whole && warning.ways > 0 && warning.enough > 0 &&
                sector_basis(hints->sectors, &splits[1], r) != SECTOR_UNKNOWN)
                ARRAY_PUSH(&hints->warnings, warning);
        }
    }
    free(splits);
    free(values);
    if (!hints->model->exact && hints->warnings.count > first)
        keep_certain_warnings(hints, level, first);
}

/* effect: how many late probes of bursts tell as much as one alone would. */
static double tolerance_of(const struct sector_hints *hints, size_t region, double effect)
{
    double late = 0;

    if (hints->model->exact)
        return NEARLY_EXACT;
    for (size_t i = 0; i < hints->model->observations; i++)
        if (hints->regions.of[i] >> region & 1)
            late += analysis_probe(hints->model->analysis, i, NULL)->open;
    return fmax(NEARLY_EXACT, NEARLY_SAMPLED / sqrt(late / effect + 1));
}

static void add_level(struct sector_hints *hints, size_t level)
{
    struct sector_choice choices[SECTOR_REGIONS_MAX];
    double tolerance[SECTOR_REGIONS_MAX];
    uint64_t eligible[SECTOR_REGIONS_MAX];
    double effect;

    if (hints->levels[level].ways == 0)
        return;
    effect = analysis_design_effect(hints->model->analysis,
                                    (double)hints->model->machine.caches[level].bytes);
    for (size_t r = 0; r < hints->regions.count; r++)
        tolerance[r] = tolerance_of(hints, r, fmax(1, effect));
    sector_structures_of_regions(hints, eligible);
    sector_search(hints->sectors, hints->levels[level], eligible, hints->regions.count, tolerance,
                  choices);
    add_rows(hints, level, choices);
    add_warnings(hints, level);
}

/* Octaves of lines, up to four times the largest cache that can be divided. */
static void choose_bounds(struct sector_hints *hints)
{
    double most = 0;

    for (size_t i = 0; i < hints->model->machine.levels; i++)
        most = fmax(most, hints->levels[i].lines_per_way * hints->levels[i].ways);
    hints->bins = 1;
    while (hints->bins < SECTOR_BINS_MAX - 1 && hints->bounds[hints->bins - 1] < 4 * most) {
        hints->bounds[hints->bins] = ldexp(1, (int)hints->bins - 1);
        hints->bins++;
    }
    hints->bounds[hints->bins] = INFINITY;
}

/*
 * A distance of c lines or more misses in a part of c lines: the misses of both parts at c lines
 * each, less those at the next bound.
 */
static void add_histograms(struct sector_hints *hints, uint64_t isolated)
{
    size_t regions = hints->regions.count, n = hints->bins + 1;
    struct sector_split splits[SECTOR_BINS_MAX + 1];
    double *values = allocate_zeroed(n * regions, SECTOR_SIDES * sizeof(*values));

    for (size_t i = 0; i < n; i++)
        splits[i] = (struct sector_split){isolated, hints->bounds[i], hints->bounds[i]};
    sector_misses(hints->sectors, splits, n, values);
    for (size_t r = 0; r < regions && r < HISTOGRAM_REGIONS_MAX; r++) {
        struct sector_histogram histogram = {.region = r, .isolated = isolated};
        if (sector_basis(hints->sectors, &splits[1], r) == SECTOR_UNKNOWN)
            continue;
        for (size_t i = 0; i < n; i++) {
            for (int side = 0; side < SECTOR_SIDES; side++) {
                double here = values[(i * regions + r) * SECTOR_SIDES + (size_t)side];
                double next =
                    i + 1 < n ? values[((i + 1) * regions + r) * SECTOR_SIDES + (size_t)side] : 0;
                histogram.share[i][side] = fmax(0, here - next);
            }
        }
        ARRAY_PUSH(&hints->histograms, histogram);
    }
    free(values);
}

static void work_out(struct sector_hints *hints)
{
    for (size_t i = 0; i < hints->model->machine.levels; i++)
        add_level(hints, i);
    choose_bounds(hints);
    for (uint32_t s = 0; s <= hints->structure_count && s <= SCENARIOS_MAX; s++)
        add_histograms(hints, s == 0 ? 0 : UINT64_C(1) << (s - 1));
}

static int compare_rows(const void *left, const void *right)
{
    const struct sector_row *a = left, *b = right;

    if (a->region != b->region)
        return a->region < b->region ? -1 : 1;
    return a->level < b->level ? -1 : a->level > b->level;
}

struct sector_hints *sector_hints_create(struct model *model, char *message, size_t size)
{
    struct sector_hints *hints = allocate_zeroed(1, sizeof(*hints));

    hints->model = model;
    if (!check(model, message, size) || !find_structures(hints, message, size)) {
        sector_hints_free(hints);
        return NULL;
    }
    create_sectors(hints);
    work_out(hints);
    if (hints->rows.count > 0)
        qsort(hints->rows.items, hints->rows.count, sizeof(hints->rows.items[0]), compare_rows);
    return hints;
}

void sector_hints_free(struct sector_hints *hints)
{
    if (hints == NULL)
        return;
    sector_model_free(hints->sectors);
    free(hints->regions.of);
    free(hints->structures);
    free(hints->structure_of);
    free(hints->rows.items);
    free(hints->warnings.items);
    free(hints->histograms.items);
    free(hints);
}

char *sector_names(const struct sector_hints *hints, uint64_t isolated)
{
    char *names = NULL;

    for (size_t s = 0; s < hints->structure_count; s++) {
        const char *name = hints->model->objects.items[hints->structures[s]].name;
        char *longer;

        if (!(isolated >> s & 1))
            continue;
        longer = names == NULL ? copy_string(name) : format_string("%s, %s", names, name);
        free(names);
        names = longer;
    }
    return names != NULL ? names : copy_string("");
}

double sector_region_accesses(const struct sector_hints *hints, size_t region)
{
    return sector_accesses(hints->sectors, region).value;
}

unsigned sector_companion_ways(const struct sector_hints *hints, size_t region, size_t level,
                               uint64_t isolated, double *misses, double *undivided)
{
    const struct sector_level *of = &hints->levels[level];
    size_t regions = hints->regions.count;
    struct sector_split *splits = allocate_zeroed(of->ways + 1, sizeof(*splits));
    double *values = allocate_zeroed((of->ways + 1) * regions, SECTOR_SIDES * sizeof(*values));
    unsigned best = 0;

    splits[0] = sector_split_of(*of, 0, 0);
    for (unsigned ways = 1; ways < of->ways; ways++)
        splits[ways] = sector_split_of(*of, isolated, ways);
    *undivided = *misses = 0;
    if (of->ways > 0) {
        sector_misses(hints->sectors, splits, of->ways, values);
        *undivided = values[region * SECTOR_SIDES];
        for (unsigned ways = of->least; ways + of->least <= of->ways; ways++) {
            const double *sides = &values[(ways * regions + region) * SECTOR_SIDES];
            double here = sides[SECTOR_REST] + sides[SECTOR_ISOLATED];
            if (best == 0 || here < *misses - NO_LOSS * *undivided) {
                best = ways;
                *misses = here;
            }
        }
    }
    free(splits);
    free(values);
    return best;
}
