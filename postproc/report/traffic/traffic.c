/* SPDX-License-Identifier: BSD-3-Clause */
/* See traffic.h. */
#include "report/traffic/traffic.h"
#include "report/model/address_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/curves/set_conflicts.h"
#include "report/model/shared_caches.h"

/* A figure that may as well be ten times as large says no more than that it is not larger still. */
#define VAGUE_ABOVE 10

enum { WIDTHS = 8 /* 1, 2, 4 ... 64 bytes, and others */ };

bool traffic_is_vague(struct estimate estimate)
{
    return estimate.hi > VAGUE_ABOVE * estimate.value;
}

/* Labels of the observations of one region, at the analysis of one machine. */
static uint32_t *label_region(const struct model *model, const struct traffic_machine *on,
                              const struct sector_regions *regions, size_t region)
{
    size_t n =
        model->exact ? analysis_histogram_count(on->analysis) : analysis_probe_count(on->analysis);
    uint32_t *labels = allocate_zeroed(n, sizeof(*labels));

    for (size_t i = 0; i < n; i++) {
        labels[i] = GROUP_NONE;
        if (!model->exact) {
            labels[i] = regions->of[i] >> region & 1 ? 0 : GROUP_NONE;
            continue;
        }
        const struct record_histogram *histogram = analysis_histogram(on->analysis, i, NULL);
        const struct record_region *record =
            histogram->scope == SCOPE_REGION
                ? profile_region(model->profiles[0], (uint32_t)histogram->key)
                : NULL;
        bool inside =
            strcmp(regions->items[region].name, "(all)") == 0
                ? histogram->scope == SCOPE_PROCESS
                : record != NULL && strcmp(record->name, regions->items[region].name) == 0;
        if (inside)
            labels[i] = 0;
    }
    return labels;
}

static bool holds_all_probes(const struct analysis *analysis, const uint32_t *labels)
{
    for (size_t i = 0; i < analysis_probe_count(analysis); i++)
        if (labels[i] != 0)
            return false;
    return !analysis_is_exact(analysis);
}

static unsigned class_of(uint8_t width)
{
    unsigned class = 0;

    while (class < WIDTHS - 1 && 1u << class != width)
        class ++;
    return class;
}

/* Sizes in ascending order; levels of odd machines may not be after sharing. */
static void sizes_of(const struct traffic *traffic, double *bytes)
{
    for (size_t i = 0; i < traffic->levels; i++) {
        double sharing = machine_threads_sharing(traffic->machine, i, traffic->threads);
        bytes[i] = machine_reach(traffic->machine, i, traffic->threads) / sharing;
        if (i > 0 && bytes[i] < bytes[i - 1])
            bytes[i] = bytes[i - 1];
    }
}

/*
 * Levels that are known as shared have an analysis of their own; else, NULL, each thread is given
 * its part of the cache.
 */
static const struct shared_cache *shared_level(struct model *model,
                                               const struct traffic_machine *on, size_t level)
{
    size_t count = 0;
    const struct shared_cache *shared = on->owned ? NULL : shared_caches(model, &count);

    for (size_t c = 0; c < count; c++)
        if (level >= shared[c].first_level && level < shared[c].first_level + shared[c].levels)
            return &shared[c];
    return NULL;
}

/* What shared levels miss the levels inside have missed before. */
static void use_shared_curves(struct model *model, const struct traffic_machine *on,
                              struct subset subset, double threads, struct curve_point *points)
{
    for (size_t i = 0; i < on->machine.levels; i++) {
        const struct shared_cache *shared = shared_level(model, on, i);
        double bytes = machine_reach(&on->machine, i, threads);

        if (shared == NULL)
            continue;
        analysis_miss_ratio_curve(shared->analysis, shared->exact ? (struct subset){0} : subset,
                                  &bytes, 1, &points[i]);
        if (i > 0)
            points[i].miss_ratio.value =
                fmin(points[i].miss_ratio.value, points[i - 1].miss_ratio.value);
        points[i].miss_ratio.lo = fmin(points[i].miss_ratio.lo, points[i].miss_ratio.value);
    }
}

/* The same, ratios of sampled profiles alone. */
static void use_shared_ratios(struct model *model, const struct traffic_machine *on,
                              struct subset subset, double threads, double *ratios)
{
    for (size_t i = 0; i < on->machine.levels; i++) {
        const struct shared_cache *shared = shared_level(model, on, i);
        double bytes = machine_reach(&on->machine, i, threads), ratio;

        if (shared == NULL)
            continue;
        analysis_miss_ratios(shared->analysis, subset, &bytes, 1, &ratio);
        ratios[i] = i > 0 ? fmin(ratio, ratios[i - 1]) : ratio;
    }
}

static double bandwidth_of(const struct traffic *traffic, size_t level)
{
    const struct machine *machine = traffic->machine;
    const struct machine_bandwidth *bandwidth =
        level < traffic->levels ? &machine->caches[level].bandwidth : &machine->memory;
    double sharing = level < traffic->levels
                         ? machine_threads_sharing(machine, level, traffic->threads)
                         : fmin(traffic->threads,
                                machine->domain_cores ? machine->domain_cores : traffic->threads);
    double group = bandwidth->group > 0 ? bandwidth->group / fmax(1, sharing) : INFINITY;
    double one = bandwidth->core > 0 ? bandwidth->core : INFINITY;

    return fmin(group, one);
}

/* Memory impact: time of a level over the time of all, when every level's bandwidth is known. */
static void add_impact(struct traffic *traffic)
{
    double total = 0;

    for (size_t i = 0; i <= traffic->levels; i++) {
        double bandwidth = bandwidth_of(traffic, i);
        traffic->level[i].impact = isfinite(bandwidth) ? traffic->level[i].share / bandwidth : NAN;
        total += traffic->level[i].impact;
    }
    for (size_t i = 0; i <= traffic->levels; i++)
        traffic->level[i].impact = total > 0 ? traffic->level[i].impact / total : NAN;
}

/*
 * What part of the bytes asked for comes from each level: accesses of one width have a curve of
 * their own. Exact profiles tell widths of the whole alone: there all accesses
 * count the same.
 */
static void add_shares(struct model *model, const struct traffic_machine *on,
                       const uint32_t *labels, const double *sizes, struct traffic *traffic)
{
    size_t n = model->exact ? 0 : analysis_probe_count(on->analysis);
    uint32_t *classes = allocate_zeroed(n, sizeof(*classes));
    double weight[WIDTHS] = {0}, bytes[WIDTHS] = {0}, missed[MACHINE_LEVELS_MAX] = {0};
    double all = 0, accesses = 0, inside;

    for (size_t i = 0; i < n; i++) {
        const struct analysed_probe *probe = analysis_probe(on->analysis, i, NULL);
        classes[i] = labels[i] == GROUP_NONE ? GROUP_NONE : class_of(probe->width);
        if (classes[i] == GROUP_NONE)
            continue;
        weight[classes[i]] += analysis_probe_weight(on->analysis, i);
        bytes[classes[i]] += analysis_probe_weight(on->analysis, i) * probe->width;
    }
    for (uint32_t class = 0; class < WIDTHS; class ++) {
        double ratios[MACHINE_LEVELS_MAX];
        if (weight[class] <= 0)
            continue;
        analysis_miss_ratios(on->analysis, (struct subset){.groups = classes, .group = class},
                             sizes, traffic->levels, ratios);
        use_shared_ratios(model, on, (struct subset){.groups = classes, .group = class},
                          traffic->threads, ratios);
        for (size_t i = 0; i < traffic->levels; i++)
            missed[i] += bytes[class] * ratios[i];
        all += bytes[class];
        accesses += weight[class];
    }
    traffic->width = accesses > 0 && all > 0 ? all / accesses : NAN;
    inside = 1;
    for (size_t i = 0; i <= traffic->levels; i++) {
        double left = i == traffic->levels ? 0
                      : all > 0            ? missed[i] / all
                                           : inside * (1 - traffic->level[i].hit_ratio);
        traffic->level[i].share = fmax(0, inside - left);
        inside = left;
    }
    free(classes);
}

static struct estimate times(struct estimate estimate, double factor)
{
    return (struct estimate){estimate.value * factor, estimate.lo * factor, estimate.hi * factor};
}

/* Of two factors whose errors have nothing to do with each other. */
static struct estimate product(struct estimate a, struct estimate b)
{
    double value = a.value * b.value;

    if (value <= 0)
        return (struct estimate){value, a.lo * b.lo, a.hi * b.hi};
    return (struct estimate){
        value, fmax(a.lo * b.lo, value * (1 - hypot(1 - a.lo / a.value, 1 - b.lo / b.value))),
        value * (1 + hypot(a.hi / a.value - 1, b.hi / b.value - 1))};
}

/* What is known of the lines that the run touched, and the probes of one region. */
struct knowledge {
    struct footprint touched;
    bool whole; /* the region is everything: all lines touched come in at least once */
    bool alone; /* ... for one thread: not more often where they all fit */
};

/*
 * A cache that holds everything fetches each line once: of one thread that makes all the accesses
 * the lines tell more than a curve so far out, of several each has its own caches. Smaller ones
 * fetch each line at least once. accesses: their bytes, if all missed.
 */
static void bound_by_footprint(const struct knowledge *knowledge, double accesses,
                               struct curve_point *point)
{
    const struct footprint *touched = &knowledge->touched;
    struct estimate *ratio = &point->miss_ratio;

    if (accesses <= 0)
        return;
    if (point->bytes >= touched->most && knowledge->alone) {
        *ratio = (struct estimate){touched->likely / accesses, touched->seen / accesses,
                                   touched->most / accesses};
        point->beyond = false;
        return;
    }
    if (point->bytes >= touched->most) {
        ratio->value = fmin(ratio->value, touched->most / accesses);
        ratio->hi = fmin(ratio->hi, touched->most / accesses);
    }
    if (knowledge->whole) {
        ratio->value = fmax(ratio->value, touched->likely / accesses);
        ratio->lo = fmax(ratio->lo, touched->seen / accesses);
        ratio->hi = fmax(ratio->hi, ratio->value);
    } else if (point->bytes >= touched->most) {
        ratio->lo = 0; /* what was allocated need not have been touched */
    }
}

/* Bytes that come in from a level: those that the lines touched make certain do not depend on how
 * many accesses there were. */
static struct estimate bytes_asked_for(const struct knowledge *knowledge,
                                       const struct curve_point *point, struct estimate accesses,
                                       double line_size)
{
    struct estimate bytes =
        times(product(point->miss_ratio, accesses), accesses.value > 0 ? line_size : 0);

    if (knowledge->whole)
        bytes.lo = fmax(bytes.lo, fmin(knowledge->touched.seen, bytes.value));
    if (point->bytes >= knowledge->touched.most && (knowledge->alone || !knowledge->whole))
        bytes.hi = fmin(bytes.hi, fmax(bytes.value, knowledge->touched.most));
    return bytes;
}

/* Lines that each level writes back per access; NAN where nothing tells. */
static void find_write_backs(struct model *model, const struct traffic_machine *on,
                             struct subset subset, bool whole, const double *sizes,
                             const struct traffic *traffic, struct estimate *back)
{
    bool known = whole || !model->exact;

    if (known)
        analysis_write_backs(on->analysis, subset, sizes, traffic->levels, back);
    for (size_t i = 0; i < traffic->levels; i++) {
        const struct shared_cache *shared = known ? shared_level(model, on, i) : NULL;
        double bytes = machine_reach(&on->machine, i, traffic->threads);

        if (!known)
            back[i] = (struct estimate){NAN, NAN, NAN};
        else if (shared != NULL)
            analysis_write_backs(shared->analysis, subset, &bytes, 1, &back[i]);
    }
}

/* Accesses that miss for want of ways, as bursts saw lines crowd in sets, over the misses of a
 * fully associative cache; 1: not more of them. */
static double crowding_of(const struct model *model, struct subset subset, double miss_ratio)
{
    double crowded = 0, weight = 0;

    for (size_t i = 0; !model->exact && i < model->observations; i++) {
        double own = analysis_probe_weight(model->analysis, i);

        if (subset.groups != NULL && subset.groups[i] != subset.group)
            continue;
        weight += own;
        crowded += own * address_steps_crowded(address_steps_of(model, i));
    }
    return weight > 0 && miss_ratio > 0 ? fmax(1, crowded / weight / miss_ratio) : 1;
}

/* Bytes asked for at each level, and how much of that it has. */
static void add_levels(struct model *model, const struct traffic_machine *on, struct subset subset,
                       bool whole, const double *sizes, struct traffic *traffic)
{
    struct curve_point points[MACHINE_LEVELS_MAX];
    struct estimate before = {1, 1, INFINITY};
    double used[MACHINE_LEVELS_MAX];
    struct estimate back[MACHINE_LEVELS_MAX];
    bool blocks = traffic->granule < traffic->line_size;
    const struct machine_cache *first = &on->machine.caches[0];
    struct knowledge knowledge = {
        .touched = analysis_lines_touched(on->analysis),
        .whole = subset.groups == NULL && model->options->thread == 0,
        .alone = subset.groups == NULL && model->profile_count == 1 &&
                 model->profiles[0]->threads.count == 1,
    };
    struct set_conflicts conflicts;

    analysis_miss_ratio_curve(on->analysis, subset, sizes, traffic->levels, points);
    /* Exact profiles count the shared cache for the whole program. */
    if (whole || !model->exact)
        use_shared_curves(model, on, subset, traffic->threads, points);
    for (size_t i = 0; i < traffic->levels; i++)
        used[i] = NAN;
    if (blocks)
        analysis_line_use(on->analysis, subset, sizes, traffic->levels, traffic->granule, used);
    find_write_backs(model, on, subset, whole, sizes, traffic, back);
    traffic->level[0].written_back = (struct estimate){NAN, NAN, NAN};
    for (size_t i = 0; i < traffic->levels; i++) {
        struct traffic_level *level = &traffic->level[i], *next = &traffic->level[i + 1];
        struct estimate *ratio = &points[i].miss_ratio;

        bound_by_footprint(&knowledge, traffic->accesses.value * traffic->line_size, &points[i]);
        ratio->value = fmin(ratio->value, before.value);
        ratio->lo = fmin(ratio->lo, ratio->value);
        ratio->hi = fmin(ratio->hi, before.hi);
        level->hit_ratio = before.value > 0 ? 1 - ratio->value / before.value : NAN;
        level->misses_most = before.value > 0 ? fmin(1, ratio->hi / before.value) : NAN;
        level->line_use = used[i];
        level->conflicts = NAN;
        next->bytes =
            bytes_asked_for(&knowledge, &points[i], traffic->accesses, traffic->line_size);
        next->beyond = points[i].beyond;
        next->vague = points[i].beyond || traffic_is_vague(*ratio);
        /* What is written back was fetched before; bounds of bursts do not know the footprint. */
        if (isfinite(back[i].lo) && back[i].lo > ratio->value)
            back[i].lo = ratio->lo;
        if (isfinite(back[i].hi))
            back[i].hi = fmin(back[i].hi, ratio->hi);
        next->written_back = times(back[i], traffic->accesses.value * traffic->line_size);
        if (traffic_is_vague(next->bytes) && isfinite(back[i].hi))
            next->written_back = (struct estimate){NAN, 0, next->bytes.hi};
        before = *ratio;
    }
    if (analysis_set_conflicts(on->analysis, subset, first->bytes, first->ways, &conflicts))
        traffic->level[0].conflicts =
            conflicts.conflicts ? conflicts.misses / conflicts.scattered : 1;
    traffic->level[0].crowding = crowding_of(model, subset, points[0].miss_ratio.value);
    traffic->level[traffic->levels].hit_ratio = traffic->level[traffic->levels].line_use = NAN;
}

/* Hardware counts are of the whole run, on the run's machine, in its lines. */
static void add_measured(const struct model *model, const struct traffic_machine *on, bool whole,
                         struct traffic *traffic)
{
    bool runs_machine = on->owned || (model->options->machine == NULL && !model->machine_assumed);
    bool same_lines = true;

    for (size_t i = 0; i < traffic->levels; i++)
        same_lines &= traffic->machine->caches[i].line_size == traffic->line_size;
    for (size_t p = 0; p < model->profile_count; p++)
        traffic->counted |= model->profiles[p]->counters.count > 0;
    traffic->comparable = traffic->counted && whole && runs_machine && same_lines &&
                          model->options->thread == 0 && model->region == NULL;
    for (size_t i = 1; i <= traffic->levels && traffic->comparable; i++) {
        measured_of_level(model->profiles, model->profile_count, traffic->machine, i - 1,
                          COUNTER_FILLS, &traffic->level[i].measured);
        measured_of_level(model->profiles, model->profile_count, traffic->machine, i - 1,
                          COUNTER_WRITE_BACKS, &traffic->level[i].measured_back);
    }
}

void traffic_of_region(struct model *model, const struct traffic_machine *on,
                       const struct sector_regions *regions, size_t region, struct traffic *out)
{
    uint32_t *labels = label_region(model, on, regions, region);
    /* The whole is known already. */
    struct subset subset = {.groups = holds_all_probes(on->analysis, labels) ? NULL : labels};
    double sizes[MACHINE_LEVELS_MAX];

    *out = (struct traffic){.machine = &on->machine,
                            .line_size = analysis_line_size(on->analysis),
                            .granule = analysis_granule(on->analysis),
                            .region = regions->items[region].name,
                            .accesses = analysis_subset_accesses(on->analysis, subset),
                            .bursts = model->exact ? 0 : analysis_burst_count(on->analysis, subset),
                            .threads = model_busy_threads(model),
                            .levels = on->machine.levels};
    if (model->exact && !regions->items[region].whole)
        out->granule = out->line_size;
    sizes_of(out, sizes);
    add_levels(model, on, subset, regions->items[region].whole, sizes, out);
    add_shares(model, on, labels, sizes, out);
    if (model->exact && regions->items[region].whole)
        out->width = analysis_counted_width(on->analysis);
    add_impact(out);
    add_measured(model, on, regions->items[region].whole, out);
    out->level[0].bytes = times(out->accesses, out->width);
    for (size_t i = 0; i <= out->levels; i++)
        out->level[i].per_ls = out->level[i].bytes.value / out->level[0].bytes.value;
    free(labels);
}

static bool same_caches(const struct machine *a, const struct machine *b)
{
    if (a->levels != b->levels)
        return false;
    for (size_t i = 0; i < a->levels; i++)
        if (a->caches[i].bytes != b->caches[i].bytes ||
            a->caches[i].line_size != b->caches[i].line_size ||
            a->caches[i].sharing_cpus != b->caches[i].sharing_cpus)
            return false;
    return true;
}

size_t traffic_machines(struct model *model, struct traffic_machine out[2])
{
    struct analysis_options options = model->asked;
    char message[256];

    out[0] = (struct traffic_machine){model->machine, model->analysis, false};
    out[1] = (struct traffic_machine){.owned = true};
    if (model->options->machine == NULL || model->options->line_size != 0 ||
        !machine_of_profile(model->profiles[0], &out[1].machine) ||
        same_caches(&out[0].machine, &out[1].machine))
        return 1;
    options.line_size = 0; /* the run's */
    out[1].analysis =
        analysis_create(model->profiles, model->profile_count, &options, message, sizeof(message));
    return out[1].analysis != NULL ? 2 : 1;
}

void traffic_machines_free(struct traffic_machine *machines, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (machines[i].owned)
            analysis_free(machines[i].analysis);
    }
}
