/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/next_uses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/descending.h"

/* With so many uses that came late, those that came early, and missed nowhere, are left out. */
enum { LATE_USES_MIN = 3 };

const char *code_line_text(struct model *model, const struct code_line *line)
{
    const char *place = place_text(model->strings, line->file, line->line);
    const char *kept;
    char *text;

    if (place != NULL)
        return place;
    if (line->module == NULL || strstr(line->function, line->module) != NULL)
        return line->function;
    text = format_string("%s (%s)", line->function, line->module);
    kept = intern_table_string(model->strings, text);
    free(text);
    return kept;
}

/* Sums of weights by a small number. */
struct tally {
    struct intern_table *keys;
    ARRAY(double) weights;
};

static void tally_add(struct tally *tally, uint32_t number, double weight)
{
    uint32_t slot = intern_table_insert(tally->keys, &number, sizeof(number));

    if (slot == tally->weights.count)
        ARRAY_PUSH(&tally->weights, 0.0);
    tally->weights.items[slot] += weight;
}

static void tally_free(struct tally *tally)
{
    intern_table_free(tally->keys);
    free(tally->weights.items);
}

/* What tells the group of probes that a watched access is of. */
struct open_access {
    uint64_t profile, burst_id, ip, context_id, object;
};

static uint64_t object_of(uint8_t kind, uint32_t reference)
{
    return (uint64_t)kind << 32 | reference;
}

static struct open_access access_of_watch(const struct model *model, size_t watch)
{
    size_t profile;
    const struct record_sample *sample = analysis_watch(model->analysis, watch, &profile);

    return (struct open_access){profile, sample->burst_id, sample->ip, sample->context_id,
                                object_of(sample->object_kind, sample->object_reference)};
}

/* The first observation of each watched access, by its number in the table. */
static void find_watched(const struct model *model, const struct intern_table *keys,
                         uint32_t *found)
{
    for (size_t i = 0; i < model->observations; i++) {
        size_t profile;
        const struct analysed_probe *probe = analysis_probe(model->analysis, i, &profile);
        struct open_access key = {profile, analysis_probe_burst(model->analysis, i)->burst_id,
                                  probe->ip, probe->context_id,
                                  object_of(probe->object_kind, probe->object_reference)};
        uint32_t number;

        if (probe->reuse_ip != 0)
            continue;
        number = intern_table_find(keys, &key, sizeof(key));
        if (number != INTERN_TABLE_NONE && found[number] == GROUP_NONE)
            found[number] = (uint32_t)i;
    }
}

/* The observation that holds each watched access; GROUP_NONE: none does. */
static const uint32_t *watched(struct model *model)
{
    size_t watches = analysis_watch_count(model->analysis);
    struct intern_table *keys;
    uint32_t *found;

    if (model->watched != NULL)
        return model->watched;
    keys = intern_table_create();
    found = allocate_zeroed(watches, sizeof(*found));
    model->watched = allocate_zeroed(watches, sizeof(*model->watched));
    for (size_t i = 0; i < watches; i++) {
        struct open_access key = access_of_watch(model, i);

        model->watched[i] = intern_table_insert(keys, &key, sizeof(key));
        found[i] = GROUP_NONE;
    }
    find_watched(model, keys, found);
    for (size_t i = 0; i < watches; i++)
        model->watched[i] = found[model->watched[i]];
    free(found);
    intern_table_free(keys);
    return model->watched;
}

/* Uses of a group's lines, by location. */
struct seen_uses {
    struct tally locations;
    ARRAY(uint32_t) numbers; /* of the locations */
    double total;
};

static void note_use(struct seen_uses *seen, uint32_t location, double weight)
{
    tally_add(&seen->locations, location, weight);
    if (seen->locations.weights.count > seen->numbers.count)
        ARRAY_PUSH(&seen->numbers, location);
    seen->total += weight;
}

/* Those that came within their bursts. */
static void note_early_use(struct model *model, size_t observation, struct seen_uses *seen)
{
    size_t profile;
    const struct analysed_probe *probe = analysis_probe(model->analysis, observation, &profile);
    const struct record_burst *burst = analysis_probe_burst(model->analysis, observation);

    if (probe->reuse_ip != 0 && probe->count > 0)
        note_use(
            seen,
            resolver_code(model->resolver, profile, probe->reuse_ip, burst->monotonic_ns, false),
            analysis_probe_weight(model->analysis, observation));
}

static int compare_times(const void *left, const void *right)
{
    const struct late_use *a = left, *b = right;

    if (a->accesses != b->accesses)
        return a->accesses < b->accesses ? 1 : -1;
    return (a->observation > b->observation) - (a->observation < b->observation);
}

double late_uses_spread(late_use_list *uses)
{
    double total = 0, above = 0, below = 0, upper = 0, lower = 0;

    for (size_t i = 0; i < uses->count; i++)
        total += uses->items[i].draws;
    if (total < 4)
        return 0;
    qsort(uses->items, uses->count, sizeof(*uses->items), compare_times);
    for (size_t i = 0; i < uses->count && above <= total / 4; i++) {
        above += uses->items[i].draws;
        upper = uses->items[i].accesses;
    }
    for (size_t i = uses->count; i > 0 && below <= total / 4; i--) {
        below += uses->items[i - 1].draws;
        lower = uses->items[i - 1].accesses;
    }
    return upper / fmax(1, lower);
}

void late_uses_of(struct model *model, const struct grouping *grouping, uint32_t group,
                  late_use_list *uses)
{
    const uint32_t *observation = watched(model);

    for (size_t i = 0; i < analysis_watch_count(model->analysis); i++) {
        const struct record_watch_end *end = analysis_watch_end(model->analysis, i);
        size_t profile;

        if (observation[i] == GROUP_NONE || grouping->labels[observation[i]] != group ||
            end == NULL || end->reason != WATCH_REUSED || end->ip == 0)
            continue;
        analysis_watch(model->analysis, i, &profile);
        ARRAY_PUSH(uses, ((struct late_use){.observation = observation[i],
                                            .location =
                                                resolver_code(model->resolver, profile, end->ip,
                                                              end->monotonic_ns, end->pursued == 0),
                                            .accesses = analysis_watch_accesses(model->analysis, i),
                                            .weight = analysis_watch_weight(model->analysis, i),
                                            .draws = 1}));
    }
}

/* Later ones, that watches saw. */
static void note_late_uses(struct model *model, const struct grouping *grouping, uint32_t group,
                           struct seen_uses *seen, struct next_uses *out)
{
    late_use_list uses = {0};

    late_uses_of(model, grouping, group, &uses);
    for (size_t i = 0; i < uses.count; i++)
        note_use(seen, uses.items[i].location, uses.items[i].weight);
    out->watched = uses.count;
    out->late_spread = late_uses_spread(&uses);
    free(uses.items);
}

static struct code_line line_at(struct model *model, uint32_t number)
{
    const struct location *location = resolver_location(model->resolver, number);
    size_t frame = location_own_frame(location);

    return model_line_of_frame(model, location, frame < location->frames.count ? frame : 0);
}

struct code_line late_use_line(struct model *model, const struct late_use *use)
{
    return line_at(model, use->location);
}

static bool same_line(const struct code_line *a, const struct code_line *b)
{
    return a->function == b->function && a->file == b->file && a->line == b->line;
}

static int compare_uses(const void *left, const void *right)
{
    const struct next_use *a = left, *b = right;

    return (a->share < b->share) - (a->share > b->share);
}

/* Several instructions of one line are one place. */
static void collect_uses(struct model *model, const struct tally *locations,
                         const uint32_t *numbers, double total, struct next_uses *out)
{
    ARRAY(struct next_use) uses = {0};

    for (size_t i = 0; i < locations->weights.count; i++) {
        struct next_use use = {line_at(model, numbers[i]), locations->weights.items[i] / total};
        size_t at = 0;

        while (at < uses.count && !same_line(&uses.items[at].line, &use.line))
            at++;
        if (at < uses.count)
            uses.items[at].share += use.share;
        else
            ARRAY_PUSH(&uses, use);
    }
    if (uses.count > 0)
        qsort(uses.items, uses.count, sizeof(*uses.items), compare_uses);
    out->count = uses.count < NEXT_USES_MAX ? uses.count : (size_t)NEXT_USES_MAX;
    if (out->count > 0)
        memcpy(out->uses, uses.items, out->count * sizeof(*uses.items));
    free(uses.items);
}

/* Objects with a smaller part of the group's accesses do not explain it. */
#define OBJECT_PART_MIN 0.05

/* The group's members object by object, of those objects that have a number in `slots`; fills the
 * subsets of all numbers, and returns what they list, which the caller frees. */
static uint32_t *list_by_object(const struct model *model, struct subset own, const uint32_t *slots,
                                struct subset *subsets, size_t count)
{
    uint32_t *members = allocate(own.member_count + 1, sizeof(*members));
    size_t *next = allocate_zeroed(count + 1, sizeof(*next));

    for (size_t k = 0; k < own.member_count; k++) {
        uint32_t object = model->by_object.labels[own.members[k]];

        if (object != GROUP_NONE && slots[object] != GROUP_NONE)
            next[slots[object] + 1]++;
    }
    for (size_t i = 0; i < count; i++) {
        subsets[i] = (struct subset){
            .members = members + next[i], .member_count = next[i + 1], .objects = true};
        next[i + 1] += next[i];
    }
    for (size_t k = 0; k < own.member_count; k++) {
        uint32_t object = model->by_object.labels[own.members[k]];

        if (object != GROUP_NONE && slots[object] != GROUP_NONE)
            members[next[slots[object]]++] = own.members[k];
    }
    free(next);
    return members;
}

/* How often the group's accesses to each of these objects miss at the focus level. */
static void find_ratios(const struct model *model, struct subset own, const uint32_t *objects,
                        size_t count, double *ratios)
{
    double size = model->sizes[model->level_size[model_focus_level(model)]];
    uint32_t *slots = allocate(model->objects.count + 1, sizeof(*slots)), *members;
    struct subset *subsets = allocate(count + 1, sizeof(*subsets));

    for (size_t i = 0; i < model->objects.count; i++)
        slots[i] = GROUP_NONE;
    for (size_t i = 0; i < count; i++)
        if (objects[i] != GROUP_NONE)
            slots[objects[i]] = (uint32_t)i;
    members = list_by_object(model, own, slots, subsets, count);
    analysis_miss_ratios_of(model->analysis, subsets, count, &size, 1, ratios);
    free(members);
    free(subsets);
    free(slots);
}

/* Of the objects that the group touches, the one with most misses at the focus level. */
static void find_object(const struct model *model, const struct grouping *grouping, uint32_t group,
                        const struct tally *objects, const uint32_t *numbers, struct next_uses *out)
{
    size_t count = objects->weights.count, kept = 0;
    uint32_t *candidates = allocate(count + 1, sizeof(*candidates));
    double *accesses = allocate(2 * count + 1, sizeof(*accesses)), *ratios = accesses + count;
    double total = grouping->accesses[group], most = -1;

    for (size_t i = 0; i < count; i++)
        if (count == 1 || !(objects->weights.items[i] < OBJECT_PART_MIN * total)) {
            candidates[kept] = numbers[i];
            accesses[kept++] = objects->weights.items[i];
        }
    if (kept > 1)
        find_ratios(model, grouping_subset(grouping, group), candidates, kept, ratios);
    for (size_t i = 0; i < kept; i++) {
        double misses = kept > 1 ? accesses[i] * ratios[i] : accesses[i];

        if (misses > most) {
            most = misses;
            out->object = candidates[i];
            out->object_share = total > 0 ? accesses[i] / total : 0;
        }
    }
    free(accesses);
    free(candidates);
}

void next_uses_of(struct model *model, const struct grouping *grouping, uint32_t group,
                  struct next_uses *out)
{
    struct subset own = grouping_subset(grouping, group);
    struct seen_uses seen = {.locations.keys = intern_table_create()};
    struct tally objects = {.keys = intern_table_create()};
    ARRAY(uint32_t) object_numbers = {0};

    memset(out, 0, sizeof(*out));
    out->object = GROUP_NONE;
    model_label_objects(model);
    if (own.member_count > 0)
        note_late_uses(model, grouping, group, &seen, out);
    for (size_t k = 0; k < own.member_count; k++) {
        size_t i = own.members[k];

        tally_add(&objects, model->by_object.labels[i], analysis_probe_weight(model->analysis, i));
        if (objects.weights.count > object_numbers.count)
            ARRAY_PUSH(&object_numbers, model->by_object.labels[i]);
        if (out->watched < LATE_USES_MIN)
            note_early_use(model, i, &seen);
    }
    if (seen.total > 0)
        collect_uses(model, &seen.locations, seen.numbers.items, seen.total, out);
    find_object(model, grouping, group, &objects, object_numbers.items, out);
    free(object_numbers.items);
    free(seen.numbers.items);
    tally_free(&objects);
    tally_free(&seen.locations);
}
