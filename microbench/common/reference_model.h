/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locality under the independent reference model: every step makes one access to each of several
 * objects, to a line drawn with fixed probabilities, independently of all steps before.
 */
#ifndef MICROBENCH_REFERENCE_MODEL_H
#define MICROBENCH_REFERENCE_MODEL_H

#include <stddef.h>

#include "truth.h"

/* How one object's lines are drawn; lines of (nearly) equal probability are put together. */
struct line_group {
    double probability; /* of each line, per step */
    double lines;
};

struct reference_object {
    size_t object; /* number in the truth */
    struct line_group *groups;
    size_t group_count;
};

/*
 * Groups `count` probabilities, which it sorts in place: the 4096 largest stand alone, of the
 * others neighbours in a span of 0.2 % of their rank share their mean. Free `groups`.
 */
struct reference_object reference_object_create(size_t object, double *probabilities, size_t count);

/* An object whose lines are all drawn equally often. Free `groups`. */
struct reference_object reference_object_uniform(size_t object, size_t lines);

/*
 * Tells the truth of `steps` steps per iteration of a thread. With one object whose lines are all
 * alike it is exact: distances are uniform over the other lines and times geometric. Otherwise
 * distances follow from the approximation of Che, Tung and Wang (2002), with the expected number of
 * distinct lines in place of their integral; times are exact.
 */
void reference_model_truth(struct truth *, size_t thread, size_t line_size_index,
                           const struct reference_object *objects, size_t object_count,
                           double steps);

#endif
