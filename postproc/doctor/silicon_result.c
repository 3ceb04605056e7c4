/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report says against the truth of its program. See silicon_test.h. */
#include <math.h>
#include <string.h>

#include "doctor/silicon_test.h"

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* {estimate, lo, hi, truth, ratio} */
static json_t *beside(const json_t *estimate, double truth)
{
    double value = number(estimate, "value");

    return json_pack("{s:f, s:f, s:f, s:f, s:o}", "estimate", value, "lo", number(estimate, "lo"),
                     "hi", number(estimate, "hi"), "truth", truth, "ratio",
                     truth > 0 ? json_real(value / truth) : json_null());
}

/* The element of an array of objects whose line_size is that; NULL without. */
static const json_t *of_line_size(const json_t *array, double line_size)
{
    const json_t *element;
    size_t i;

    json_array_foreach(array, i, element)
    {
        if (number(element, "line_size") == line_size)
            return element;
    }
    return NULL;
}

static double true_miss_ratio(const json_t *distances, double lines)
{
    const json_t *bin;
    double share = 0;
    size_t i;

    json_array_foreach(distances, i, bin)
    {
        if (number(bin, "stack_distance_lines") >= lines)
            share += number(bin, "share");
    }
    return share;
}

/* Error of the curve in percentage points: mean and worst over its sizes, and how many intervals
 * hold the truth. */
static json_t *compare_curve(const json_t *report, const json_t *truth)
{
    double line_size = number(report, "line_size"), sum = 0, worst = 0, worst_bytes = 0;
    const json_t *distances = json_object_get(
        of_line_size(json_object_get(truth, "line_sizes"), line_size), "stack_distance");
    const json_t *point;
    size_t i, sizes = 0, covered = 0;

    json_array_foreach(json_object_get(report, "mrc"), i, point)
    {
        double bytes = number(point, "bytes"), real, error;

        if (!json_is_number(json_object_get(point, "miss_ratio")))
            continue;
        real = true_miss_ratio(distances, floor(bytes / line_size));
        error = 100 * fabs(number(point, "miss_ratio") - real);
        sum += error;
        if (error > worst) {
            worst = error;
            worst_bytes = bytes;
        }
        covered += number(point, "lo") <= real + 1e-9 && real <= number(point, "hi") + 1e-9;
        sizes++;
    }
    if (sizes == 0)
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:i, s:i}", "mean_error_pp", sum / (double)sizes,
                     "worst_error_pp", worst, "worst_at_bytes", worst_bytes, "sizes", (int)sizes,
                     "covered", (int)covered);
}

static json_t *compare_transfers(const json_t *report, const json_t *truth)
{
    double line_size = number(report, "line_size");
    const json_t *total =
        json_object_get(of_line_size(json_object_get(truth, "communication"), line_size), "total");
    const json_t *estimates = json_object_get(json_object_get(report, "sharing"), "total");
    static const char *const kinds[] = {"all", "true", "false"};
    json_t *result = json_object();

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        json_object_set_new(result, kinds[i],
                            beside(json_object_get(estimates, kinds[i]), number(total, kinds[i])));
    return result;
}

/* What the report has of its own kind, as it is. */
static void copy(json_t *result, const json_t *report, const char *key)
{
    json_t *value = json_object_get(report, key);

    json_object_set(result, key, value ? value : json_null());
}

json_t *silicon_compare(const struct silicon_case *test, const json_t *report, const json_t *truth,
                        double iterations)
{
    static const char *const copied[] = {"engine", "samples",      "watches",  "lost", "sources",
                                         "served", "translations", "overhead", "notes"};
    const json_t *accesses = json_object_get(truth, "accesses");
    const json_t *run = json_object_get(report, "run");
    json_t *result = json_object();

    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++)
        copy(result, report, copied[i]);
    copy(result, run, "events");
    copy(result, run, "served_by");
    copy(result, run, "period_ns");
    if (test->transfers) {
        json_object_set_new(result, "transfers", compare_transfers(report, truth));
        return result;
    }
    json_object_set_new(result, "curve", compare_curve(report, truth));
    json_object_set_new(
        result, "accesses",
        beside(json_object_get(report, "accesses"),
               number(accesses, "setup") + iterations * number(accesses, "per_iteration")));
    return result;
}
