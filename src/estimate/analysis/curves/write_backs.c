/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines that a cache writes back because they were stored to while it held them.
 *
 * Counts of every access tell them (reuse/exact_dirty.h). Samples tell bounds. A line's stay in the
 * cache ends with the last access before it is evicted, which is an access whose next use misses,
 * so that samples tell how many stays end, and with what kind of access. A stay that ends with a
 * store is written back: the lower bound. One that ends with a load is written back if a store came
 * before it during the stay, which the sample does not see; it cannot be where nothing stores to
 * the data object at all: the others make the upper bound, which is at most the number of stores.
 * The lower bound is taken at the lower end of its interval, the upper one at the upper end.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/internal.h"
#include "support/memory.h"

enum { STORES, LOADS_OF_STORED, READ_ONLY };

struct object_key {
    uint64_t profile, kind, reference;
};

static struct object_key object_of(const struct analysis *analysis, size_t i)
{
    const struct analysed_probe *probe = &analysis->probes[i];

    return (struct object_key){analysis->bursts[probe->burst].profile, probe->object_kind,
                               probe->object_reference};
}

static int compare_objects(const void *left, const void *right)
{
    const struct object_key *a = left, *b = right;

    if (a->profile != b->profile)
        return a->profile < b->profile ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->reference > b->reference) - (a->reference < b->reference);
}

/* Labels the subset's probes; objects that anybody stores to count, inside the subset or not.
 */
static uint32_t *label_probes(const struct analysis *analysis, struct subset subset,
                              double weight[2])
{
    uint32_t *labels = allocate(analysis->probe_count + 1, sizeof *labels);
    struct object_key *stored = allocate(analysis->probe_count + 1, sizeof *stored);
    size_t n = 0;

    for (size_t i = 0; i < analysis->probe_count; i++)
        if (analysis->probes[i].last_kind == ACCESS_STORE)
            stored[n++] = object_of(analysis, i);
    if (n > 0)
        qsort(stored, n, sizeof *stored, compare_objects);
    weight[0] = weight[1] = 0;
    for (size_t i = 0; i < analysis->probe_count; i++) {
        struct object_key object = object_of(analysis, i);
        bool store = analysis->probes[i].last_kind == ACCESS_STORE;
        bool inside = !subset.groups || subset.groups[i] == subset.group;

        labels[i] = READ_ONLY;
        if (inside && store)
            labels[i] = STORES;
        else if (inside && n > 0 && bsearch(&object, stored, n, sizeof *stored, compare_objects))
            labels[i] = LOADS_OF_STORED;
        if (labels[i] != READ_ONLY)
            weight[labels[i]] += analysis_probe_weight(analysis, i);
    }
    free(stored);
    return labels;
}

static void sampled_write_backs(const struct analysis *analysis, struct subset subset,
                                const double *bytes, size_t n, struct estimate *out)
{
    double weight[2], accesses = analysis_subset_accesses(analysis, subset).value;
    struct curve_point *points = allocate_zeroed(2 * n + 1, sizeof *points);
    uint32_t *labels = label_probes(analysis, subset, weight);

    for (uint32_t part = STORES; part <= LOADS_OF_STORED; part++)
        if (weight[part] > 0)
            analysis_miss_ratio_curve(analysis, (struct subset){.groups = labels, .group = part},
                                      bytes, n, points + part * n);
    for (size_t k = 0; k < n; k++) {
        double least = weight[STORES] * points[k].miss_ratio.lo;
        double most = weight[STORES] * points[k].miss_ratio.hi +
                      weight[LOADS_OF_STORED] * points[n + k].miss_ratio.hi;

        out[k] = (struct estimate){NAN, accesses > 0 ? least / accesses : NAN,
                                   accesses > 0 ? fmin(most, weight[STORES]) / accesses : NAN};
    }
    free(labels);
    free(points);
}

static void exact_write_backs(const struct analysis *analysis, const double *bytes, size_t n,
                              struct estimate *out)
{
    uint8_t whole = analysis->options.groups      ? SCOPE_SHARED
                    : analysis->options.thread_id ? SCOPE_THREAD
                                                  : SCOPE_PROCESS;
    double accesses = analysis_subset_accesses(analysis, (struct subset){0}).value;
    bool counted = false;

    for (size_t k = 0; k < n; k++)
        out[k] = (struct estimate){0, 0, 0};
    for (size_t i = 0; i < analysis->histogram_count; i++) {
        const struct record_histogram *histogram = analysis->histograms[i].record;

        if (histogram->scope != whole || histogram->measure != MEASURE_DIRTY)
            continue;
        counted = true;
        for (size_t k = 0; k < n; k++)
            out[k].value += (double)histogram->cold +
                            exact_count_above(histogram, bytes[k] / analysis->line_size);
    }
    for (size_t k = 0; k < n; k++) {
        double ratio = counted && accesses > 0 ? fmin(out[k].value / accesses, 1) : NAN;
        out[k] = (struct estimate){ratio, ratio, ratio};
    }
}

void analysis_write_backs(const struct analysis *analysis, struct subset subset,
                          const double *bytes, size_t n, struct estimate *out)
{
    if (analysis_is_exact(analysis))
        exact_write_backs(analysis, bytes, n, out);
    else
        sampled_write_backs(analysis, subset, bytes, n, out);
}
