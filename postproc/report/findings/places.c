/* SPDX-License-Identifier: BSD-3-Clause */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings/address_evidence.h"
#include "report/findings/burst_time.h"
#include "report/findings/curve_evidence.h"
#include "report/findings/layout.h"
#include "report/findings/line_order.h"
#include "report/findings/modelled_pace.h"
#include "report/findings/places_internal.h"
#include "report/findings/resampled.h"
#include "report/findings/timed_evidence.h"
#include "report/model/next_uses.h"
#include "report/model/object_labels.h"
#include "support/descending.h"

/* A line of source with fewer accesses takes little time, whatever they cost. */
static const double accesses_min = 0.0005;

/* Two places whose bursts are as often the same ones as this are in one loop. */
static const double one_loop = 0.5;

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

static bool looks_in_order(const struct search *search, double line_order, double width,
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

    return looks_in_order(search, candidate->line_order, mean_width(search, candidate),
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
    evidence->object_bytes = (double)data->size;
    evidence->blocks = (double)data->blocks;
    evidence->touched_bytes =
        fmin(data_object_extent(data), analysis_footprint(search->model->analysis));
}

/* Part of the bursts with members of one subset that have members of the other. */
static double bursts_in_common(const struct model *model, struct subset a, struct subset b)
{
    size_t k = 0, common = 0, all = 0;
    uint32_t last = GROUP_NONE;

    for (size_t i = 0; i < a.member_count; i++) {
        uint32_t burst = analysis_probe(model->analysis, a.members[i], NULL)->burst;

        if (burst == last)
            continue;
        last = burst;
        all++;
        while (k < b.member_count &&
               analysis_probe(model->analysis, b.members[k], NULL)->burst < burst)
            k++;
        common += k < b.member_count &&
                  analysis_probe(model->analysis, b.members[k], NULL)->burst == burst;
    }
    return all > 0 ? (double)common / (double)all : 0;
}

static bool is_line(const struct code_line *a, const struct code_line *b)
{
    return a->file == b->file && a->line == b->line && a->function == b->function;
}

static uint32_t number_of_line(const struct model *model, const struct code_line *line)
{
    for (size_t i = 0; i < model->lines.count; i++)
        if (is_line(&model->lines.items[i], line))
            return (uint32_t)i;
    return GROUP_NONE;
}

/* Whether a line is in another loop than the group. */
static bool is_in_other_loop(const struct search *search, uint32_t group, uint32_t line)
{
    const struct model *model = search->model;

    return line == GROUP_NONE ||
           (line != search->candidates.items[group].line &&
            bursts_in_common(model, grouping_subset(&search->all, group),
                             grouping_subset(&model->by_line, line)) < one_loop);
}

/* Whether a line that uses the group's data next is in another loop. Thousands of late uses are on
 * a few lines: what is found of one serves the next question on it. */
static bool is_elsewhere(struct search *search, uint32_t group, const struct code_line *use)
{
    const struct line_key key = {use->file, use->function, use->line};
    uint32_t number = intern_table_insert(search->line_keys, &key, sizeof(key));
    struct next_line *next;

    if (number == search->next_lines.count)
        ARRAY_PUSH(&search->next_lines,
                   ((struct next_line){number_of_line(search->model, use), GROUP_NONE, false}));
    next = &search->next_lines.items[number];
    if (next->group != group) {
        next->group = group;
        next->elsewhere = is_in_other_loop(search, group, next->line);
    }
    return next->elsewhere;
}

/* Where late reuses happen: in the place's own loop or elsewhere. */
static void find_reuses(struct search *search, uint32_t group, struct access_place *place)
{
    struct next_uses uses;
    double most = 0;

    next_uses_of(search->model, &search->late, group, &uses);
    place->evidence.late_reuses = uses.watched;
    place->evidence.late_spread = uses.late_spread;
    for (size_t i = 0; i < uses.count; i++) {
        if (!is_elsewhere(search, group, &uses.uses[i].line))
            continue;
        place->evidence.reused_elsewhere += uses.uses[i].share;
        if (uses.uses[i].share > most) {
            most = uses.uses[i].share;
            place->reused_at = uses.uses[i].line;
        }
    }
}

/* What the place's evidence carries, from the runs that resampling bursts makes. points: its curve
 * at the model's sizes. */
static void judge(struct search *search, uint32_t group, const struct curve_point *points,
                  struct access_place *place)
{
    struct model *model = search->model;
    uint32_t count = analysis_resampled_count(model->analysis);
    struct access_evidence *resampled = allocate_zeroed(count + 1, sizeof(*resampled));
    late_use_list late = {0};
    bool *elsewhere;
    struct resampled_place of = {grouping_subset(&search->all, group), points, &late, NULL};

    late_uses_of(model, &search->late, group, &late);
    elsewhere = allocate_zeroed(late.count + 1, sizeof(*elsewhere));
    for (size_t i = 0; i < late.count; i++) {
        struct code_line line = late_use_line(model, &late.items[i]);

        elsewhere[i] = is_elsewhere(search, group, &line);
    }
    of.elsewhere = elsewhere;
    resample_evidence(model, search->costs, &of, &place->evidence, resampled);
    place->verdict = verdict_of(&place->evidence, resampled, count);
    free(elsewhere);
    free(late.items);
    free(resampled);
}

static bool is_untracked(const struct search *search, const struct candidate *candidate)
{
    return candidate->object != GROUP_NONE &&
           strcmp(search->model->objects.items[candidate->object].name, OBJECT_NAME_UNTRACKED) == 0;
}

/* Small blocks that are not tracked are like those that are, which the same line uses. */
static uint32_t object_of(const struct search *search, uint32_t group)
{
    const struct candidate *own = &search->candidates.items[group];
    uint32_t object = own->object;
    double most = 0;

    if (!is_untracked(search, own))
        return object;
    for (size_t g = 0; g < search->candidates.count; g++) {
        const struct candidate *other = &search->candidates.items[g];

        if (other->line != own->line || is_untracked(search, other) || other->small_sum <= most)
            continue;
        most = other->small_sum;
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

/* What the same line of source reads in order and may be its indexes: for profiles that do not tell
 * what addresses are made of (record_steps, `traced`). GROUP_NONE: nothing. */
static uint32_t indexes_of(struct search *search, uint32_t group)
{
    for (uint32_t g = 0; g < search->candidates.count; g++) {
        if (!may_be_index(search, group, g))
            continue;
        get_to_know(search, &g, 1);
        if (is_in_order(search, g))
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
    evidence->index_object = model->objects.items[source.object].name;
    evidence->index_line = code_line_text(model, &model->lines.items[source.line]);
}

/* points: room for MODEL_SIZES_MAX, for judge(). */
static void examine(struct search *search, uint32_t group, struct access_place *place,
                    struct curve_point *points, struct estimate *cost)
{
    struct model *model = search->model;
    const struct candidate *candidate = &search->candidates.items[group];
    struct access_evidence *evidence = &place->evidence;
    struct element_places *places;
    struct address_order *order;

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
    evidence->timed = timed_evidence_of(model, grouping_subset(&search->all, group));
    *cost = access_place_cost(
        model, search->costs, points,
        (struct line_reach){.in_order = evidence_is_in_order(evidence),
                            .from_memory = timed_evidence_least(&evidence->timed),
                            .waited = modelled_waiting(model, grouping_subset(&search->all, group)),
                            .crowded = crowded_of(candidate)});
    evidence->small_blocks = candidate->small_sum > 0.5 * candidate->accesses;
    if (model->exact)
        return;
    order = address_order_of(model, grouping_subset(&search->all, group));
    address_order_evidence(order, ANALYSIS_AS_OBSERVED, evidence);
    address_order_free(order);
    places = element_places_of(model, grouping_subset(&search->all, group));
    layout_of_accesses(places, ANALYSIS_AS_OBSERVED, evidence);
    element_places_free(places);
    describe_indexes(search, group, place);
    find_reuses(search, group, place);
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
        /* What reads their indexes may be of little weight. */
        for (size_t i = 0; i < *count; i++)
            search->candidates.items[order[i].number].indexes = indexes_of(search, order[i].number);
        places_merge_rest(search, marked);
        *count += choose_from(search, lines, order + *count, &all);
    }
    free(marked);
    sort_descending(order, *count);
    if (*count > PLACES_MAX)
        *count = PLACES_MAX;
    return order;
}

/* Everything that the report is about, listed; the caller frees the list. */
static struct subset list_all(const struct model *model, uint32_t **list)
{
    struct subset all = model_whole(model);
    uint32_t *members = *list = allocate_zeroed(model->observations + 1, sizeof(*members));

    for (size_t i = 0; i < model->observations; i++)
        if (model->region == NULL || model->region[i] == 0)
            members[all.member_count++] = (uint32_t)i;
    all.members = members;
    return all;
}

/* ns that misses add to an access, whatever it is: lines that follow each other, as far as that is
 * known of all of them together, cost less than others. */
static struct estimate cost_of_whole(const struct search *search)
{
    struct model *model = search->model;
    struct estimate in_order, scattered;
    double visits = model->whole[model->level_size[0]].miss_ratio.value, width = 0, part = 0;
    struct line_reach reach = {.waited = 1};

    if (!model->exact) {
        uint32_t *members = NULL;
        struct subset all = list_all(model, &members);

        part = line_order_of(model, all);
        reach.waited = modelled_waiting(model, all);
        free(members);
    }
    scattered = access_place_cost(model, search->costs, model->whole, reach);
    reach.in_order = true;
    in_order = access_place_cost(model, search->costs, model->whole, reach);
    for (size_t i = 0; i < search->candidates.count; i++)
        if (search->candidates.items[i].lines == 0)
            width += search->candidates.items[i].width_sum / fmax(1, model->accesses.value);
    part = part > 0 ? line_order_scattered(part) : !looks_in_order(search, 0, width, visits);
    return (struct estimate){part * scattered.value + (1 - part) * in_order.value,
                             part * scattered.lo + (1 - part) * in_order.lo,
                             part * scattered.hi + (1 - part) * in_order.hi};
}

/* What all that was not examined costs: the misses of the whole less those of the places. */
static struct estimate cost_of_rest(const struct search *search, const struct access_places *places,
                                    const struct time_part *parts)
{
    const struct model *model = search->model;
    double accesses = model->accesses.value, known = 0, all;
    struct estimate whole = cost_of_whole(search);

    for (size_t i = 0; i < places->items.count; i++) {
        known += places->items.items[i].accesses * parts[i].cost_ns.value;
        accesses -= places->items.items[i].accesses;
    }
    all = model->accesses.value;
    if (!(accesses > 0.001 * all))
        return (struct estimate){0, 0, 0};
    return (struct estimate){fmax(0, all * whole.value - known) / accesses, 0,
                             fmax(0, all * whole.hi - known) / accesses};
}

static enum time_kind kind_of(const struct access_evidence *evidence)
{
    if (evidence_is_crowded(evidence))
        return TIME_CROWDED;
    return evidence_is_in_order(evidence) ? TIME_IN_ORDER : TIME_SCATTERED;
}

/* curves: of each place, MODEL_SIZES_MAX points. */
static void find_shares(struct search *search, const struct valued *chosen, struct time_part *parts,
                        const struct curve_point *curves, struct access_places *places)
{
    struct model *model = search->model;
    size_t count = places->items.count;
    uint32_t *part_of = allocate_zeroed(search->candidates.count, sizeof(*part_of));
    uint32_t *labels = allocate_zeroed(model->observations, sizeof(*labels));

    for (size_t g = 0; g < search->candidates.count; g++)
        part_of[g] = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        part_of[chosen[i].number] = (uint32_t)i;
    for (size_t i = 0; i < count; i++)
        parts[i].kind = kind_of(&places->items.items[i].evidence);
    /* Of many places: as cheap as if they were. */
    parts[count].kind = TIME_IN_ORDER;
    parts[count].cost_ns = cost_of_rest(search, places, parts);
    for (size_t i = 0; i < model->observations; i++)
        labels[i] = search->all.labels[i] == GROUP_NONE ? (uint32_t)GROUP_NONE
                                                        : part_of[search->all.labels[i]];
    places->time = burst_time_shares(model, labels, parts, count + 1, search->costs->hit_ns, false,
                                     search->contended);
    for (size_t i = 0; i < count; i++) {
        places->items.items[i].evidence.time = parts[i].share;
        places->items.items[i].evidence.bursts =
            model->exact ? (size_t)EVIDENCE_BURSTS_MIN : parts[i].bursts;
        places->items.items[i].verdict = verdict_of(&places->items.items[i].evidence, NULL, 0);
        if (!model->exact && parts[i].share.hi >= FINDING_TIME_MIN)
            judge(search, chosen[i].number, curves + i * MODEL_SIZES_MAX, &places->items.items[i]);
    }
    free(labels);
    free(part_of);
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
    find_shares(&search, chosen, parts, curves, places);
    if (count > 0)
        qsort(places->items.items, count, sizeof(*places->items.items), compare_places);
    free(curves);
    free(parts);
    free(chosen);
    free(search.next_lines.items);
    intern_table_free(search.line_keys);
    places_free_groups(&search);
}
