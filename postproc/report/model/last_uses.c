/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/last_uses.h"

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

/* What tells the groups of probes that a watched access is of. */
struct open_access {
    uint64_t profile, burst_id, ip, context_id, object;
};

/* What tells those of the access that came back: its line of source, and the object. */
struct returning_access {
    uint64_t profile, object, line;
    const char *function, *file;
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

static struct code_line line_at(struct model *model, uint32_t number)
{
    const struct location *location = resolver_location(model->resolver, number);
    size_t frame = location_own_frame(location);

    return model_line_of_frame(model, location, frame < location->frames.count ? frame : 0);
}

static struct returning_access returning(uint64_t profile, uint64_t object,
                                         const struct code_line *line)
{
    return (struct returning_access){profile, object, line->line, line->function, line->file};
}

/* False: nothing came back, or it is not known where. */
static bool return_of_watch(struct model *model, size_t watch, struct returning_access *out)
{
    const struct record_watch_end *end = analysis_watch_end(model->analysis, watch);
    size_t profile;
    const struct record_sample *sample = analysis_watch(model->analysis, watch, &profile);
    struct code_line line;

    if (end == NULL || end->reason != WATCH_REUSED || end->ip == 0)
        return false;
    line = line_at(model, resolver_code(model->resolver, profile, end->ip, end->monotonic_ns,
                                        end->pursued == 0));
    *out = returning(profile, object_of(sample->object_kind, sample->object_reference), &line);
    return true;
}

/* The first observations with some keys. */
struct first_of {
    struct intern_table *keys;
    ARRAY(uint32_t) observations;
};

/* The number of the key. */
static uint32_t want(struct first_of *first, const void *key, size_t size)
{
    uint32_t number = intern_table_insert(first->keys, key, size);

    if (number == first->observations.count)
        ARRAY_PUSH(&first->observations, (uint32_t)GROUP_NONE);
    return number;
}

static void note_first(struct first_of *first, const void *key, size_t size, size_t observation)
{
    uint32_t number = intern_table_find(first->keys, key, size);

    if (number != INTERN_TABLE_NONE && first->observations.items[number] == GROUP_NONE)
        first->observations.items[number] = (uint32_t)observation;
}

static uint32_t first_with(const struct first_of *first, uint32_t number)
{
    return number != GROUP_NONE ? first->observations.items[number] : (uint32_t)GROUP_NONE;
}

static void free_first(struct first_of *first)
{
    intern_table_free(first->keys);
    free(first->observations.items);
}

static void find_watched(const struct model *model, struct first_of *left, struct first_of *back)
{
    for (size_t i = 0; i < model->observations; i++) {
        size_t profile;
        const struct analysed_probe *probe = analysis_probe(model->analysis, i, &profile);
        uint64_t object = object_of(probe->object_kind, probe->object_reference);
        struct open_access key = {profile, analysis_probe_burst(model->analysis, i)->burst_id,
                                  probe->last_ip, probe->last_context_id, object};

        if (!probe->late)
            continue;
        note_first(left, &key, sizeof key, i);
        if (model->by_line.labels[i] != GROUP_NONE) {
            struct returning_access there =
                returning(profile, object, &model->lines.items[model->by_line.labels[i]]);

            note_first(back, &there, sizeof there, i);
        }
    }
}

/* The observations of each watch; GROUP_NONE: there is none. */
static const struct watched_line *watched(struct model *model)
{
    size_t watches = analysis_watch_count(model->analysis);
    struct first_of left = {.keys = NULL}, back = {.keys = NULL};
    struct returning_access there;

    if (model->watched != NULL)
        return model->watched;
    left.keys = intern_table_create();
    back.keys = intern_table_create();
    model_label_lines(model);
    model->watched = allocate_zeroed(watches + 1, sizeof(*model->watched));
    for (size_t i = 0; i < watches; i++) {
        struct open_access key = access_of_watch(model, i);

        model->watched[i].left_by = want(&left, &key, sizeof key);
        model->watched[i].came_back =
            return_of_watch(model, i, &there) ? want(&back, &there, sizeof there) : GROUP_NONE;
    }
    find_watched(model, &left, &back);
    for (size_t i = 0; i < watches; i++) {
        struct watched_line *line = &model->watched[i];

        line->left_by = first_with(&left, line->left_by);
        line->came_back = first_with(&back, line->came_back);
        if (line->came_back == GROUP_NONE)
            line->came_back = line->left_by;
    }
    free_first(&left);
    free_first(&back);
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

    if (!probe->late && probe->count > 0)
        note_use(
            seen,
            resolver_code(model->resolver, profile, probe->last_ip, burst->monotonic_ns, false),
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
    const struct watched_line *lines = watched(model);

    for (size_t i = 0; i < analysis_watch_count(model->analysis); i++) {
        const struct record_watch_end *end = analysis_watch_end(model->analysis, i);
        const struct record_sample *sample;
        size_t profile;

        if (lines[i].left_by == GROUP_NONE || grouping->labels[lines[i].came_back] != group ||
            end == NULL || end->reason != WATCH_REUSED || end->ip == 0)
            continue;
        sample = analysis_watch(model->analysis, i, &profile);
        ARRAY_PUSH(
            uses, ((struct late_use){.observation = lines[i].left_by,
                                     .location = resolver_code(model->resolver, profile, sample->ip,
                                                               sample->monotonic_ns, false),
                                     .accesses = analysis_watch_accesses(model->analysis, i),
                                     .weight = analysis_watch_weight(model->analysis, i),
                                     .draws = 1}));
    }
}

/* Later ones, that watches saw. */
static void note_late_uses(struct model *model, const struct grouping *grouping, uint32_t group,
                           struct seen_uses *seen, struct last_uses *out)
{
    late_use_list uses = {0};

    late_uses_of(model, grouping, group, &uses);
    for (size_t i = 0; i < uses.count; i++)
        note_use(seen, uses.items[i].location, uses.items[i].weight);
    out->watched = uses.count;
    out->late_spread = late_uses_spread(&uses);
    free(uses.items);
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
    const struct last_use *a = left, *b = right;

    return (a->share < b->share) - (a->share > b->share);
}

/* Several instructions of one line are one place. */
static void collect_uses(struct model *model, const struct tally *locations,
                         const uint32_t *numbers, double total, struct last_uses *out)
{
    ARRAY(struct last_use) uses = {0};

    for (size_t i = 0; i < locations->weights.count; i++) {
        struct last_use use = {line_at(model, numbers[i]), locations->weights.items[i] / total};
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
    out->count = uses.count < LAST_USES_MAX ? uses.count : (size_t)LAST_USES_MAX;
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
                        const struct tally *objects, const uint32_t *numbers, struct last_uses *out)
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

void last_uses_of(struct model *model, const struct grouping *grouping, uint32_t group,
                  struct last_uses *out)
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
