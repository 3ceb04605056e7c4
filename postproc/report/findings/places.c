/* SPDX-License-Identifier: BSD-3-Clause */
/* Which places may take most time, and what their accesses do. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings/address_evidence.h"
#include "report/findings/burst_time.h"
#include "report/findings/curve_evidence.h"
#include "report/findings/layout.h"
#include "report/findings/library_caller.h"
#include "report/findings/line_order.h"
#include "report/findings/loop_accesses.h"
#include "report/findings/modelled_pace.h"
#include "report/findings/places_internal.h"
#include "report/findings/timed_evidence.h"
#include "report/model/last_uses.h"
#include "report/model/object_labels.h"
#include "support/descending.h"

/* A line of source with fewer accesses takes little time, whatever they cost. */
static const double accesses_min = 0.0005;

/* Less of the modelled time than this cannot add up to a finding. */
static const double time_min = 0.005;

static double mean_width(const struct search *search, const struct candidate *candidate)
{
    if (search->model->exact) {
        double width = analysis_counted_width(search->model->analysis);

        return isfinite(width) ? width : 0;
    }
    return candidate->accesses > 0 ? candidate->width_sum / candidate->accesses : 0;
}

bool places_look_in_order(const struct search *search, double line_order, double width,
                          double visits)
{
    struct access_evidence evidence = {.width = width,
                                       .visits = visits,
                                       .line_order = line_order,
                                       .line_bytes = analysis_line_size(search->model->analysis)};

    return evidence_is_in_order(&evidence);
}

static bool is_in_order(const struct search *search, uint32_t group)
{
    const struct candidate *candidate = &search->candidates.items[group];

    return places_look_in_order(search, candidate->line_order, mean_width(search, candidate),
                                candidate->ratios[0]);
}

/* Evaluates those of the groups that have not been; all at once, for that is one walk over the
 * profile. */
static void get_to_know(struct search *search, const uint32_t *groups, size_t count)
{
    size_t n = search->costs->levels, fresh = 0;
    struct subset *subsets = allocate_zeroed(count + 1, sizeof(*subsets));
    double *ratios = allocate_zeroed(count * n + 1, sizeof(*ratios));
    double *orders = allocate_zeroed(count + 1, sizeof(*orders));

    for (size_t i = 0; i < count; i++)
        if (!search->candidates.items[groups[i]].known)
            subsets[fresh++] = grouping_subset(&search->all, groups[i]);
    if (fresh > 0) {
        analysis_miss_ratios_of(search->model->analysis, subsets, fresh, search->sizes, n, ratios);
        line_orders_of(search->model, subsets, fresh, orders);
    }
    for (size_t i = 0; i < fresh; i++) {
        struct candidate *candidate = &search->candidates.items[subsets[i].group];

        memcpy(candidate->ratios, ratios + i * n, n * sizeof(*ratios));
        candidate->line_order = orders[i];
        candidate->known = true;
    }
    free(orders);
    free(ratios);
    free(subsets);
}

static double crowded_of(const struct candidate *candidate)
{
    return candidate->accesses > 0 ? candidate->crowded_sum / candidate->accesses : 0;
}

/* ns that misses add to an access of a group that is known, without an interval. */
static double quick_cost(const struct search *search, uint32_t group)
{
    const struct candidate *candidate = &search->candidates.items[group];
    struct line_reach reach = {
        .in_order = is_in_order(search, group), .waited = 1, .crowded = crowded_of(candidate)};

    return access_cost_of_misses(search->costs, candidate->ratios, reach);
}

static void describe_object(const struct search *search, uint32_t object,
                            struct access_evidence *evidence)
{
    const struct data_object *data;

    if (object == GROUP_NONE)
        return;
    data = &search->model->objects.items[object];
    /* Of a stack's size next to nothing is used. */
    if (strcmp(data->kind, "stack") == 0)
        return;
    evidence->touched_bytes = data_object_in_use(search->model, data);
    evidence->object_bytes = fmin((double)data->size, evidence->touched_bytes);
    evidence->block_bytes = (double)data->size;
    evidence->blocks = (double)data->blocks;
    for (size_t i = 0; i < search->model->objects.count; i++)
        evidence->some_untracked |=
            strcmp(search->model->objects.items[i].name, OBJECT_NAME_UNTRACKED) == 0;
}

static bool is_untracked(const struct search *search, const struct candidate *candidate)
{
    return candidate->object != GROUP_NONE &&
           strcmp(search->model->objects.items[candidate->object].name, OBJECT_NAME_UNTRACKED) == 0;
}

/* Blocks that are not tracked are like those that are, which the same line uses. */
static uint32_t object_of(const struct search *search, uint32_t group)
{
    const struct candidate *own = &search->candidates.items[group];
    uint32_t object = own->object;
    double most = 0;

    if (!is_untracked(search, own))
        return object;
    for (size_t g = 0; g < search->candidates.count; g++) {
        const struct candidate *other = &search->candidates.items[g];

        if (other->line != own->line || is_untracked(search, other) || other->sampled_sum <= most)
            continue;
        most = other->sampled_sum;
        object = other->object;
    }
    return object;
}

/* Whether `index` may be reads of numbers, about as many as `group` accesses, on the same line. */
static bool may_be_index(const struct search *search, uint32_t group, uint32_t index)
{
    const struct candidate *own = &search->candidates.items[group];
    const struct candidate *other = &search->candidates.items[index];
    double width = mean_width(search, other);

    return index != group && other->line == own->line && other->object != own->object &&
           (width == 4 || width == 8) && other->load_sum >= 0.99 * other->accesses &&
           other->accesses >= 0.5 * own->accesses && other->accesses <= 2 * own->accesses;
}

bool places_is_in_order(struct search *search, uint32_t group)
{
    get_to_know(search, &group, 1);
    return is_in_order(search, group);
}

/* What the same line of source reads in order and may be its indexes: for profiles that do not tell
 * what addresses are made of (record_steps, `traced`). GROUP_NONE: nothing. */
static uint32_t indexes_of(struct search *search, uint32_t group)
{
    for (uint32_t g = 0; g < search->candidates.count; g++) {
        if (!may_be_index(search, group, g))
            continue;
        if (places_is_in_order(search, g))
            return g;
    }
    return GROUP_NONE;
}

static void describe_indexes(const struct search *search, uint32_t group,
                             struct access_place *place)
{
    struct model *model = search->model;
    uint32_t likely = search->candidates.items[group].indexes;
    struct access_evidence *evidence = &place->evidence;
    struct index_source source;

    if (index_source_of(model, search->loading, grouping_subset(&search->all, group), place->object,
                        &source)) {
        evidence->indexed = true;
    } else if (!evidence->traced && likely != GROUP_NONE) {
        evidence->indexed = true;
        source = (struct index_source){search->candidates.items[likely].line,
                                       search->candidates.items[likely].object};
    }
    if (!evidence->indexed || source.object == GROUP_NONE)
        return;
    evidence->index_counts = index_source_is_written(model, source);
    if (strcmp(model->objects.items[source.object].name, OBJECT_NAME_UNTRACKED) != 0)
        evidence->index_object = model->objects.items[source.object].name;
    evidence->index_line = code_line_text(model, &model->lines.items[source.line]);
}

/* A copy of many vectors per turn looks like steps to each of its instructions. */
static bool loop_is_in_order(struct search *search, struct subset group, struct subset loop)
{
    struct model *model = search->model;
    double visits, width = 0, accesses = 0;

    if (loop.member_count == group.member_count)
        return false;
    for (size_t k = 0; k < loop.member_count; k++) {
        double weight = analysis_probe_object_weight(model->analysis, loop.members[k]);

        width += weight * analysis_probe(model->analysis, loop.members[k], NULL)->width;
        accesses += weight;
    }
    analysis_miss_ratios_of(model->analysis, &loop, 1, search->sizes, 1, &visits);
    return accesses > 0 &&
           places_look_in_order(search, line_order_of(model, loop), width / accesses, visits);
}

/* points: room for MODEL_SIZES_MAX, for judge(). */
static void examine(struct search *search, uint32_t group, struct access_place *place,
                    struct curve_point *points, struct estimate *cost)
{
    struct model *model = search->model;
    const struct candidate *candidate = &search->candidates.items[group];
    struct access_evidence *evidence = &place->evidence;
    struct subset own = grouping_subset(&search->all, group), loop = {0};
    struct element_places *places;
    struct address_order *order;
    uint32_t *members = NULL;

    *place = (struct access_place){.line = candidate->line,
                                   .object = object_of(search, group),
                                   .accesses = candidate->accesses,
                                   .lines = candidate->lines,
                                   .growing = candidate->growing};
    analysis_miss_ratio_curve(model->analysis, grouping_subset(&search->all, group), model->sizes,
                              model->size_count, points);
    evidence->line_bytes = analysis_line_size(model->analysis);
    evidence->width = mean_width(search, candidate);
    evidence->line_order = candidate->line_order;
    describe_object(search, place->object, evidence);
    curve_evidence(model, search->costs, points, evidence);
    if (!model->exact) {
        order = address_order_of(model, own);
        address_order_evidence(order, ANALYSIS_AS_OBSERVED, evidence);
        address_order_free(order);
        loop = loop_accesses_of(model, own, &members);
        /* Nodes of a line and a half are no stream, though half of their lines follow another. */
        evidence->loop_in_order = evidence_steps_evenly(evidence) &&
                                  !evidence_is_in_order(evidence) &&
                                  loop_is_in_order(search, own, loop);
    }
    evidence->timed = timed_evidence_of(model, grouping_subset(&search->all, group));
    *cost = access_place_cost(
        model, search->costs, points,
        (struct line_reach){.in_order = evidence_is_in_order(evidence),
                            .from_memory = timed_evidence_least(&evidence->timed),
                            .waited = modelled_waiting(model, grouping_subset(&search->all, group)),
                            .crowded = crowded_of(candidate)});
    evidence->sampled_blocks = candidate->sampled_sum > 0.5 * candidate->accesses;
    if (model->exact)
        return;
    place->caller = library_caller_of(model, own);
    places = element_places_of(model, loop);
    layout_of_accesses(places, ANALYSIS_AS_OBSERVED, evidence);
    element_places_free(places);
    free(members);
    describe_indexes(search, group, place);
    places_find_reuses(search, group, place);
    evidence->passed_elsewhere = candidate->pass != GROUP_NONE;
    if (evidence->passed_elsewhere && place->reused_at.function == NULL)
        place->reused_at = model->lines.items[candidate->pass];
}

/* Of the candidates from `first` on, those that may take more than a little of all that is taken,
 * in any order; returns how many. *all: ns that all accesses take, to which theirs are added. */
static size_t choose_from(struct search *search, size_t first, struct valued *order, double *all)
{
    uint32_t *groups = allocate_zeroed(search->candidates.count + 1, sizeof(*groups));
    size_t count = 0, kept = 0;

    for (size_t g = first; g < search->candidates.count; g++)
        if (!(search->candidates.items[g].accesses < accesses_min * search->model->accesses.value))
            groups[count++] = (uint32_t)g;
    get_to_know(search, groups, count);
    for (size_t i = 0; i < count; i++) {
        double accesses = search->candidates.items[groups[i]].accesses;

        order[i] = (struct valued){groups[i], accesses * quick_cost(search, groups[i])};
        *all += order[i].value;
    }
    free(groups);
    for (size_t i = 0; i < count; i++)
        if (order[i].value > time_min * *all)
            order[kept++] = order[i];
    return kept;
}

/* The groups that may take most time, in that order; the caller frees them. What is left is looked
 * at object by object. */
static struct valued *choose(struct search *search, size_t *count)
{
    size_t lines = search->candidates.count;
    struct valued *order =
        allocate_zeroed(lines + search->model->objects.count + 1, sizeof(*order));
    bool *marked = allocate_zeroed(lines + 1, sizeof(*marked));
    double all = search->costs->hit_ns * search->model->accesses.value;

    *count = choose_from(search, 0, order, &all);
    for (size_t i = 0; i < *count; i++)
        marked[order[i].number] = true;
    if (!search->model->exact) {
        /* What reads their indexes, or goes through their data as well, may be of little weight. */
        for (size_t i = 0; i < *count; i++) {
            struct candidate *candidate = &search->candidates.items[order[i].number];

            candidate->indexes = indexes_of(search, order[i].number);
            candidate->pass = places_find_pass(search, order[i].number);
        }
        places_merge_rest(search, marked);
        *count += choose_from(search, lines, order + *count, &all);
    }
    free(marked);
    sort_descending(order, *count);
    if (*count > PLACES_MAX)
        *count = PLACES_MAX;
    return order;
}

static int compare_places(const void *left, const void *right)
{
    const struct access_place *a = left, *b = right;
    double x = a->evidence.time.value, y = b->evidence.time.value;

    if (x != y)
        return x > y ? -1 : 1;
    return (a->line > b->line) - (a->line < b->line);
}

void access_places_find(struct model *model, const struct access_costs *costs, bool grows,
                        struct contended_bursts *contended, struct access_places *places)
{
    struct search search = {.model = model, .costs = costs, .grows = grows, .contended = contended};
    struct time_part *parts;
    struct curve_point *curves;
    struct valued *chosen;
    size_t count;

    *places = (struct access_places){.time = {0, 0, 0}};
    if (costs->levels == 0 || model->observations == 0 || !(model->accesses.value > 0) ||
        !model_splits(model))
        return;
    for (size_t i = 0; i < costs->levels; i++)
        search.sizes[i] = (double)model->machine.caches[i].bytes;
    places_group(&search);
    search.line_keys = intern_table_create();
    chosen = choose(&search, &count);
    parts = allocate_zeroed(count + 1, sizeof(*parts));
    curves = allocate(count * MODEL_SIZES_MAX, sizeof(*curves));
    for (size_t i = 0; i < count; i++) {
        struct access_place place;

        examine(&search, chosen[i].number, &place, curves + i * MODEL_SIZES_MAX, &parts[i].cost_ns);
        ARRAY_PUSH(&places->items, place);
    }
    places_find_shares(&search, chosen, parts, curves, places);
    if (count > 0)
        qsort(places->items.items, count, sizeof(*places->items.items), compare_places);
    free(curves);
    free(parts);
    free(chosen);
    free(search.next_lines.items);
    intern_table_free(search.line_keys);
    places_free_groups(&search);
}
