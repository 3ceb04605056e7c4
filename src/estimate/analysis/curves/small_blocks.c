/* SPDX-License-Identifier: BSD-3-Clause */
/* Heap blocks of which a sample is tracked: small ones, and larger ones while they are dear
 * (docs/estimators.md, section 12). */
#include <math.h>

#include "analysis/internal.h"

void analysis_weigh_small_blocks(struct analysis *analysis)
{
    double sampled = 0, estimate = 0, untracked = 0, rest;

    for (size_t i = 0; i < analysis->probe_count; i++) {
        const struct analysed_probe *probe = &analysis->probes[i];
        double weight = analysis->bursts[probe->burst].weight * probe->count;

        if (probe->object_kind == OBJECT_HEAP_UNTRACKED) {
            untracked += weight;
        } else if (probe->object_kind == OBJECT_HEAP && probe->tracked_log2 > 0) {
            sampled += weight;
            estimate += ldexp(weight, probe->tracked_log2);
        }
    }
    rest = untracked + sampled - estimate;
    analysis->tracked_scale = estimate > 0 ? fmin(1, (untracked + sampled) / estimate) : 1;
    analysis->untracked_scale = untracked > 0 ? fmax(0, rest) / untracked : 1;
}

double analysis_object_factor(const struct analysis *analysis, const struct analysed_probe *probe)
{
    if (probe->object_kind == OBJECT_HEAP_UNTRACKED)
        return analysis->untracked_scale;
    if (probe->object_kind == OBJECT_HEAP && probe->tracked_log2 > 0)
        return ldexp(analysis->tracked_scale, probe->tracked_log2);
    return 1;
}

double analysis_probe_object_weight(const struct analysis *analysis, size_t index)
{
    return analysis_probe_weight(analysis, index) *
           analysis_object_factor(analysis, &analysis->probes[index]);
}
