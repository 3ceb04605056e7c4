/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers of two runs by the object that they went to. See subjects.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/compare/subjects.h"
#include "report/model/communication_view.h"
#include "report/model/flow_totals.h"
#include "support/descending.h"

/* The common number of each object of a side; the caller frees them. */
static uint32_t *number_objects(const struct comparison_side *side, struct intern_table *keys)
{
    const data_objects *objects;
    uint32_t *numbers;

    communication_view_label_objects(side->model, communication_view_of(side->model));
    objects = &communication_view_of(side->model)->objects;
    numbers = allocate_zeroed(objects->count, sizeof(*numbers));
    for (size_t i = 0; i < objects->count; i++) {
        char *key = object_subject(side->texts, &objects->items[i]);

        numbers[i] = intern_table_insert(keys, key, strlen(key) + 1);
        free(key);
    }
    return numbers;
}

/* Transfers of a side by common number; the caller frees them. */
static struct flow_totals *totals_of(const struct comparison_side *side, const uint32_t *numbers,
                                     size_t count)
{
    const struct communication_view *view = communication_view_of(side->model);
    struct flow_totals *totals = allocate_zeroed(count, sizeof(*totals));
    uint32_t *labels = allocate_zeroed(view->count, sizeof(*labels));

    for (size_t i = 0; i < view->count; i++)
        labels[i] = view->place[i] == FLOW_PROGRAM && view->to_object[i] != GROUP_NONE
                        ? numbers[view->to_object[i]]
                        : (uint32_t)GROUP_NONE;
    flow_totals_of(view->communication, labels, count, totals);
    free(labels);
    return totals;
}

static struct change change_of(const struct comparison_side sides[SIDES],
                               struct flow_totals *const totals[SIDES], uint32_t number,
                               enum matrix_kind kind)
{
    struct figure figures[SIDES];

    for (size_t side = 0; side < SIDES; side++)
        figures[side] =
            figure_divided((struct figure){.known = true, .value = totals[side][number].of[kind]},
                           (double)sides[side].model->profile_count);
    return change_between(figures[SIDE_BEFORE], figures[SIDE_AFTER]);
}

/* Names of the objects by their numbers; the caller frees the list. */
static struct moved_object *name_objects(struct comparison_side sides[SIDES],
                                         uint32_t *const numbers[SIDES], size_t count,
                                         struct intern_table *names)
{
    struct moved_object *objects = allocate_zeroed(count, sizeof(*objects));

    for (size_t side = 0; side < SIDES; side++) {
        const data_objects *own = &communication_view_of(sides[side].model)->objects;

        for (size_t i = 0; i < own->count; i++) {
            struct moved_object *object = &objects[numbers[side][i]];
            char *key;

            if (object->name != NULL)
                continue;
            key = object_subject(sides[side].texts, &own->items[i]);
            object_subject_parts(key, names, &object->kind, &object->name);
            free(key);
        }
    }
    return objects;
}

struct moved_list moved_compare(struct comparison_side sides[SIDES], size_t top)
{
    struct moved_list list = {.names = intern_table_create()};
    struct intern_table *keys = intern_table_create();
    struct flow_totals *totals[SIDES];
    uint32_t *numbers[SIDES];
    struct moved_object *objects;
    struct valued *order;
    size_t count;

    for (size_t side = 0; side < SIDES; side++)
        numbers[side] = number_objects(&sides[side], keys);
    count = intern_table_count(keys);
    for (size_t side = 0; side < SIDES; side++)
        totals[side] = totals_of(&sides[side], numbers[side], count);
    objects = name_objects(sides, numbers, count, list.names);
    order = allocate_zeroed(count, sizeof(*order));
    for (uint32_t i = 0; i < count; i++) {
        objects[i].all = change_of(sides, totals, i, MATRIX_ALL);
        objects[i].false_sharing = change_of(sides, totals, i, MATRIX_FALSE);
        order[i] = (struct valued){i, fabs(objects[i].all.absolute.value)};
    }
    sort_descending(order, count);
    list.items = allocate_zeroed(top < count ? top : count, sizeof(*list.items));
    for (size_t i = 0; i < count && list.count < top; i++) {
        const struct moved_object *object = &objects[order[i].number];

        if (object->all.before.value.value > 0 || object->all.after.value.value > 0)
            list.items[list.count++] = *object;
    }
    for (size_t side = 0; side < SIDES; side++) {
        free(totals[side]);
        free(numbers[side]);
    }
    free(order);
    free(objects);
    intern_table_free(keys);
    return list;
}

void moved_free(struct moved_list *list)
{
    free(list->items);
    intern_table_free(list->names);
}
