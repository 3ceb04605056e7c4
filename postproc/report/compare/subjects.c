/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/compare/subjects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/descending.h"

/* Candidates per row that are evaluated: what has fewer accesses than all of these is small. */
enum { CANDIDATES_PER_ROW = 8 };

/* One side's groups under the common numbers. */
struct matched_side {
    struct grouping grouping; /* labels and accesses by common number */
    size_t groups;            /* of the model's own grouping */
    uint32_t *common;         /* number of each of these; GROUP_NONE: left out */
};

struct matching {
    struct comparison_side *sides;
    enum subject_kind kind;
    struct intern_table *keys, *names;
    ARRAY(struct subject) subjects; /* by common number */
    struct matched_side matched[SIDES];
    size_t left_out;
};

size_t comparison_levels(const struct comparison_side sides[SIDES])
{
    size_t before = sides[SIDE_BEFORE].figures.levels, after = sides[SIDE_AFTER].figures.levels;

    return before < after ? before : after;
}

size_t comparison_focus(const struct comparison_side sides[SIDES])
{
    return comparison_levels(sides) > 1 ? 1 : 0;
}

static const struct grouping *own_grouping(struct model *model, enum subject_kind kind)
{
    if (kind == SUBJECT_OBJECT) {
        model_label_objects(model);
        return &model->by_object;
    }
    model_label_lines(model);
    return &model->by_line;
}

/* NULL: the group has no name that could be found on the other side. */
static char *key_of_group(struct matching *matching, enum side side, size_t group)
{
    const struct comparison_side *on = &matching->sides[side];

    switch (matching->kind) {
    case SUBJECT_OBJECT:
        return object_subject(on->texts, &on->model->objects.items[group]);
    case SUBJECT_LINE:
        return line_subject(on->texts, &on->model->lines.items[group]);
    case SUBJECT_FUNCTION:
        break;
    }
    return function_subject(on->model->lines.items[group].function);
}

static uint32_t common_number(struct matching *matching, const char *key)
{
    uint32_t number = intern_table_insert(matching->keys, key, strlen(key));
    struct subject subject = {.kind = NULL};

    if (number < matching->subjects.count)
        return number;
    if (matching->kind == SUBJECT_OBJECT)
        object_subject_parts(key, matching->names, &subject.kind, &subject.name);
    else
        subject.name = intern_table_string(matching->names, key);
    ARRAY_PUSH(&matching->subjects, subject);
    return number;
}

static void number_groups(struct matching *matching, enum side side)
{
    const struct grouping *own = own_grouping(matching->sides[side].model, matching->kind);
    struct matched_side *matched = &matching->matched[side];

    matched->groups = own->count;
    matched->common = allocate_zeroed(own->count, sizeof(*matched->common));
    for (size_t g = 0; g < own->count; g++) {
        char *key = key_of_group(matching, side, g);

        matching->left_out += key == NULL && own->accesses[g] > 0;
        matched->common[g] = key != NULL ? common_number(matching, key) : (uint32_t)GROUP_NONE;
        free(key);
    }
}

/* Observations and accesses of a side by common numbers, of which there are `count`. */
static void regroup(struct matching *matching, enum side side)
{
    const struct model *model = matching->sides[side].model;
    const struct grouping *own =
        matching->kind == SUBJECT_OBJECT ? &model->by_object : &model->by_line;
    struct matched_side *matched = &matching->matched[side];
    struct grouping *grouping = &matched->grouping;

    grouping->count = matching->subjects.count;
    grouping->objects = own->objects;
    grouping->accesses = allocate_zeroed(grouping->count, sizeof(*grouping->accesses));
    grouping->labels = allocate_zeroed(model->observations, sizeof(*grouping->labels));
    for (size_t i = 0; i < model->observations; i++)
        grouping->labels[i] =
            own->labels[i] == GROUP_NONE ? (uint32_t)GROUP_NONE : matched->common[own->labels[i]];
    for (size_t g = 0; g < matched->groups; g++)
        if (matched->common[g] != GROUP_NONE)
            grouping->accesses[matched->common[g]] += own->accesses[g];
    for (size_t i = 0; i < grouping->count; i++)
        matching->subjects.items[i].seen[side] = grouping->accesses[i] > 0;
    if (!model->exact)
        grouping_list_members(grouping, model->observations);
}

/* The exact engine puts instructions that hardly count into one line of this name. */
static const char rest_of_code[] = "other instructions";

/* Misses of the instructions that an exact profile does not tell apart. */
static double misses_of_rest(const struct matching *matching, enum side side, size_t level)
{
    uint32_t rest = intern_table_find(matching->keys, rest_of_code, strlen(rest_of_code));
    const struct comparison_side *on = &matching->sides[side];

    if (matching->kind == SUBJECT_OBJECT || rest == INTERN_TABLE_NONE ||
        !matching->subjects.items[rest].seen[side])
        return 0;
    return figure_misses(on->model, grouping_subset(&matching->matched[side].grouping, rest), level)
               .value.value /
           (double)on->model->profile_count;
}

/* Most of the side's misses that a part can have which it did not see. */
static struct figure unseen(const struct matching *matching, enum side side, size_t level)
{
    const struct comparison_side *on = &matching->sides[side];
    struct figure figure = on->figures.misses[level];

    if (!figure.known)
        return figure;
    figure.value.value = figure.value.lo = 0;
    if (on->model->exact)
        figure.value.hi = misses_of_rest(matching, side, level);
    else if (on->model->bursts > 0)
        figure.value.hi *= 1 - pow(0.05, 1 / (double)on->model->bursts);
    return figure;
}

static struct figure misses_on(const struct matching *matching, enum side side, uint32_t number,
                               size_t level)
{
    const struct comparison_side *on = &matching->sides[side];

    if (!matching->subjects.items[number].seen[side])
        return unseen(matching, side, level);
    return figure_divided(
        figure_misses(on->model, grouping_subset(&matching->matched[side].grouping, number), level),
        (double)on->model->profile_count);
}

/* Whether a side saw the subject too rarely for an interval to rely on. */
static bool is_rare(const struct matching *matching, enum side side, uint32_t number)
{
    const struct model *model = matching->sides[side].model;

    return !model->exact && matching->subjects.items[number].seen[side] &&
           analysis_burst_count(model->analysis, grouping_subset(&matching->matched[side].grouping,
                                                                 number)) < MODEL_BURSTS_MIN;
}

static void evaluate(struct matching *matching, uint32_t number, size_t level)
{
    struct change *change = &matching->subjects.items[number].misses[level];

    *change = change_between(misses_on(matching, SIDE_BEFORE, number, level),
                             misses_on(matching, SIDE_AFTER, number, level));
    if ((change->verdict == CHANGE_LESS || change->verdict == CHANGE_MORE) &&
        (is_rare(matching, SIDE_BEFORE, number) || is_rare(matching, SIDE_AFTER, number)))
        change->verdict = CHANGE_FEW;
}

/* The larger of the accesses that the two sides make, per file. */
static double accesses_of(const struct matching *matching, size_t number)
{
    double most = 0;

    for (size_t side = 0; side < SIDES; side++)
        most = fmax(most, matching->matched[side].grouping.accesses[number] /
                              (double)matching->sides[side].model->profile_count);
    return most;
}

static double size_of_change(const struct change *change)
{
    return change->verdict == CHANGE_UNKNOWN ? 0 : fabs(change->absolute.value);
}

/*
 * Changes that the runs show come first, each kind by size: large ones that may be chance would
 * push them out.
 */
static void sort_by_change(const struct matching *matching, size_t focus, struct valued *order,
                           size_t count)
{
    double most = 0;

    for (size_t i = 0; i < count; i++)
        most = fmax(most, size_of_change(&matching->subjects.items[order[i].number].misses[focus]));
    for (size_t i = 0; i < count; i++) {
        const struct change *change = &matching->subjects.items[order[i].number].misses[focus];
        bool shown = change->verdict == CHANGE_LESS || change->verdict == CHANGE_MORE;

        order[i].value = size_of_change(change) - (shown ? 0 : most);
    }
    sort_descending(order, count);
}

/* Numbers of the `top` subjects with the largest changes; the caller frees them. */
static struct valued *choose(struct matching *matching, size_t focus, size_t top, size_t *count)
{
    size_t all = matching->subjects.count, candidates = 0;
    struct valued *order = allocate_zeroed(all, sizeof(*order));

    for (size_t i = 0; i < all; i++)
        order[i] = (struct valued){(uint32_t)i, accesses_of(matching, i)};
    sort_descending(order, all);
    while (candidates < all && candidates < CANDIDATES_PER_ROW * top && order[candidates].value > 0)
        evaluate(matching, order[candidates++].number, focus);
    sort_by_change(matching, focus, order, candidates);
    *count = candidates < top ? candidates : top;
    return order;
}

static void matching_free(struct matching *matching)
{
    for (size_t side = 0; side < SIDES; side++) {
        grouping_free(&matching->matched[side].grouping);
        free(matching->matched[side].common);
    }
    free(matching->subjects.items);
    intern_table_free(matching->keys);
}

struct subject_list subjects_compare(struct comparison_side sides[SIDES], enum subject_kind kind,
                                     size_t top)
{
    struct matching matching = {.sides = sides,
                                .kind = kind,
                                .keys = intern_table_create(),
                                .names = intern_table_create()};
    struct subject_list list = {.names = matching.names, .levels = comparison_levels(sides)};
    size_t focus = comparison_focus(sides);
    struct valued *order;

    for (size_t side = 0; side < SIDES; side++)
        number_groups(&matching, (enum side)side);
    for (size_t side = 0; side < SIDES; side++)
        regroup(&matching, (enum side)side);
    order = choose(&matching, focus, list.levels > 0 ? top : 0, &list.count);
    list.items = allocate_zeroed(list.count, sizeof(*list.items));
    for (size_t i = 0; i < list.count; i++) {
        for (size_t level = 0; level < list.levels; level++)
            if (level != focus)
                evaluate(&matching, order[i].number, level);
        list.items[i] = matching.subjects.items[order[i].number];
    }
    list.left_out = matching.left_out;
    for (size_t i = 0; i < matching.subjects.count; i++) {
        const struct subject *subject = &matching.subjects.items[i];

        list.matched += subject->seen[SIDE_BEFORE] && subject->seen[SIDE_AFTER];
        list.all += subject->seen[SIDE_BEFORE] || subject->seen[SIDE_AFTER];
    }
    free(order);
    matching_free(&matching);
    return list;
}

void subjects_free(struct subject_list *list)
{
    free(list->items);
    intern_table_free(list->names);
}
