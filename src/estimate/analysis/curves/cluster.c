/* SPDX-License-Identifier: BSD-3-Clause */
/* The burst as the unit of sampling. */
#include <math.h>

#include "analysis/internal.h"

/* Probes of a burst that are not used again within WORTH_LINES other lines. */
static double far_probes(const struct analysis *analysis, const struct analysed_burst *burst)
{
    double far = 0;

    for (size_t i = burst->first_probe; i < burst->first_probe + burst->probe_count; i++) {
        const struct analysed_probe *probe = &analysis->probes[i];

        for (uint32_t k = probe->first; k < probe->first + probe->entries; k++) {
            const struct probe_count *entry = &analysis->counts[k];

            if (probe_distance_low(probe_code_distance(entry->code)) >= WORTH_LINES)
                far += entry->count;
        }
    }
    return far;
}

/* Variance of a ratio over clusters (Cochran 1977, chapter 6). */
double analysis_burst_worth(const struct analysis *analysis)
{
    double probes = 0, far = 0, squares = 0, bursts = 0, share, variance;

    for (size_t i = 0; i < analysis->burst_count; i++) {
        const struct analysed_burst *burst = &analysis->bursts[i];

        bursts += burst->touches > 0;
        probes += burst->touches;
        far += far_probes(analysis, burst);
    }
    share = probes > 0 ? far / probes : 0;
    if (bursts < 2 || !(share > 0) || share >= 1)
        return 1;
    for (size_t i = 0; i < analysis->burst_count; i++) {
        const struct analysed_burst *burst = &analysis->bursts[i];

        squares += pow(far_probes(analysis, burst) - share * burst->touches, 2);
    }
    variance = squares * bursts / (bursts - 1) / (probes * probes);
    if (!(variance > 0))
        return probes / bursts;
    return fmax(1, fmin(probes, share * (1 - share) / variance) / bursts);
}
