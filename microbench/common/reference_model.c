/* SPDX-License-Identifier: BSD-3-Clause */
/* Locality under the independent reference model; see reference_model.h. */
#include "reference_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

static int compare_descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

struct reference_object reference_object_create(size_t object, double *probabilities, size_t count)
{
    const size_t alone = 4096;
    struct reference_object o = {.object = object};
    o.groups = malloc(count * sizeof *o.groups);
    check_allocation(o.groups, "the reference model", count * sizeof *o.groups);
    qsort(probabilities, count, sizeof *probabilities, compare_descending);
    for (size_t begin = 0; begin < count;) {
        size_t length = begin < alone ? 1 : 1 + begin / 500;
        if (length > count - begin)
            length = count - begin;
        double sum = 0;
        for (size_t i = begin; i < begin + length; i++)
            sum += probabilities[i];
        o.groups[o.group_count++] = (struct line_group){sum / (double)length, (double)length};
        begin += length;
    }
    return o;
}

struct reference_object reference_object_uniform(size_t object, size_t lines)
{
    struct reference_object o = {.object = object, .group_count = 1};
    o.groups = malloc(sizeof *o.groups);
    check_allocation(o.groups, "the reference model", sizeof *o.groups);
    o.groups[0] = (struct line_group){1 / (double)lines, (double)lines};
    return o;
}

/* P(a line with this probability is not drawn in so many steps) */
static double untouched(double probability, double steps)
{
    return probability >= 1 ? (steps > 0 ? 0 : 1) : exp(steps * log1p(-probability));
}

static double total_lines(const struct reference_object *objects, size_t count)
{
    double lines = 0;
    for (size_t k = 0; k < count; k++) {
        for (size_t g = 0; g < objects[k].group_count; g++)
            lines += objects[k].groups[g].lines;
    }
    return lines;
}

/* Expected number of distinct lines in so many steps. */
static double distinct_lines(const struct reference_object *objects, size_t count, double steps)
{
    double lines = 0;
    for (size_t k = 0; k < count; k++) {
        for (size_t g = 0; g < objects[k].group_count; g++)
            lines += objects[k].groups[g].lines *
                     (1 - untouched(objects[k].groups[g].probability, steps));
    }
    return lines;
}

/* The time, in steps, after which an unused line leaves a cache of so many lines. */
static double characteristic_time(const struct reference_object *objects, size_t count,
                                  double lines)
{
    double low = 0, high = 1;
    while (distinct_lines(objects, count, high) < lines)
        high *= 2;
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        if (distinct_lines(objects, count, middle) < lines)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* Probability that a step's access to an object comes more than so many steps after the last to
 * the same line. */
static double later_than(const struct reference_object *o, double steps)
{
    double sum = 0;
    for (size_t g = 0; g < o->group_count; g++)
        sum += o->groups[g].lines * o->groups[g].probability *
               untouched(o->groups[g].probability, steps);
    return sum;
}

static void tell_times(struct truth *t, size_t thread, size_t line_size_index,
                       const struct reference_object *o, size_t per_step, double steps)
{
    double before = 1;
    uint64_t first = 1;
    for (uint64_t last = 1; before > 1e-9; last = 2 * last + 1) {
        double after = later_than(o, (double)last);
        if (after < 1e-9 || last > (uint64_t)1 << 50)
            after = 0;
        truth_time_range(t, thread, line_size_index, first * per_step, last * per_step,
                         steps * (before - after));
        before = after;
        first = last + 1;
    }
}

static void tell_distances(struct truth *t, size_t thread, size_t line_size_index,
                           const struct reference_object *objects, size_t count, double steps)
{
    double bytes[TRUTH_CURVE_SIZES], all = total_lines(objects, count);
    double before[8];
    uint64_t first = 0;
    if (count > sizeof before / sizeof before[0])
        fatal("the reference model takes at most %zu objects", sizeof before / sizeof before[0]);
    for (size_t k = 0; k < count; k++)
        before[k] = 1;
    truth_curve_sizes(bytes);
    for (size_t i = 0; i <= TRUTH_CURVE_SIZES && (double)first < all; i++) {
        double lines = all;
        if (i < TRUTH_CURVE_SIZES)
            lines = fmin(all, floor(bytes[i] / truth_line_sizes[line_size_index] * (1 + 1e-12)));
        double time = lines < all ? characteristic_time(objects, count, lines) : INFINITY;
        for (size_t k = 0; k < count; k++) {
            double after = lines < all ? later_than(&objects[k], time) : 0;
            truth_distance_range(t, thread, line_size_index, objects[k].object, first,
                                 (uint64_t)lines - 1, steps * (before[k] - after));
            before[k] = after;
        }
        first = (uint64_t)lines;
    }
}

void reference_model_truth(struct truth *t, size_t thread, size_t line_size_index,
                           const struct reference_object *objects, size_t object_count,
                           double steps)
{
    double all = total_lines(objects, object_count);
    truth_footprint(t, line_size_index, (uint64_t)all);
    if (object_count == 1 && objects[0].group_count == 1) {
        truth_distance_range(t, thread, line_size_index, objects[0].object, 0, (uint64_t)all - 1,
                             steps);
    } else {
        tell_distances(t, thread, line_size_index, objects, object_count, steps);
        truth_method(t, line_size_index, "independent reference model, Che approximation");
    }
    for (size_t k = 0; k < object_count; k++)
        tell_times(t, thread, line_size_index, &objects[k], object_count, steps);
}
