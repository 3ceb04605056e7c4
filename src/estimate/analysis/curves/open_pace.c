/* SPDX-License-Identifier: BSD-3-Clause */
/* How fast the lines that a thread has in use become more, of one replicate: see open_lines.c. */
#include <string.h>

#include "analysis/curves/open_lines_internal.h"

/* Resolved probes of one stratum in one cell, per probe of `all`: the integral of the share that
 * neither their thread nor another one has used again. */
static void add_resolved_area(const double times[PROBE_TIME_BINS], double all, double dilation,
                              const float alone[SHORT_POINTS], double area[PACE_POINTS])
{
    double own[PACE_POINTS] = {0}, sum = 0;

    pace_add_times(times, all, dilation, own);
    for (size_t k = 1; k < PACE_POINTS; k++) {
        size_t last = SHORT_POINTS - 1, before = k - 1 < last ? k - 1 : last;

        sum += (own[k] - own[k - 1]) * (double)(alone[before] + alone[k < last ? k : last]) / 2;
        area[k] += sum;
    }
}

/* The same of all strata. Adds to the replicate's pace. */
static void estimate_resolved(const struct open_lines *open, struct replicate *replicate,
                              const struct fate *fate, const double *probes)
{
    const struct analysis *analysis = open->analysis;
    size_t cells = analysis->cell_count, strata = analysis->stratum_count;
    double *times = replicate->per_stratum;

    memset(times, 0, cells * strata * PROBE_TIME_BINS * sizeof *times);
    for (size_t i = 0; i < open->resolved_count; i++) {
        const struct resolved_count *entry = &open->resolved[i];
        const struct analysed_burst *burst = &analysis->bursts[entry->burst];

        times[(burst->cell * strata + entry->stratum) * PROBE_TIME_BINS + entry->bin] +=
            burst->weight * replicate->factors[entry->burst] * entry->count;
    }
    for (size_t c = 0; c < cells; c++)
        for (size_t g = 0; g < strata && probes[c] > 0; g++)
            add_resolved_area(times + (c * strata + g) * PROBE_TIME_BINS, probes[c],
                              open->dilation[c], fate->alone + g * SHORT_POINTS,
                              replicate->pace + c * PACE_POINTS);
}

void open_pace_estimate(const struct open_lines *open, struct replicate *replicate,
                        const struct fate *fate)
{
    const struct analysis *analysis = open->analysis;
    size_t cells = analysis->cell_count, strata = analysis->stratum_count;
    double *times = replicate->per_cell, *probes = times + cells * PROBE_TIME_BINS;
    double *opens = probes + cells, all = 0;

    memset(replicate->per_cell, 0,
           cells * (PROBE_TIME_BINS + 1 + strata) * sizeof *replicate->per_cell);
    memset(replicate->pace, 0, cells * PACE_POINTS * sizeof *replicate->pace);
    memset(replicate->shared, 0, PACE_POINTS * sizeof *replicate->shared);
    for (uint32_t i = 0; i < analysis->burst_count; i++) {
        const struct analysed_burst *burst = &analysis->bursts[i];
        double weight = burst->weight * replicate->factors[i];

        probes[burst->cell] += weight * burst->touches;
        for (unsigned bin = 0; bin < PROBE_TIME_BINS; bin++)
            times[burst->cell * PROBE_TIME_BINS + bin] +=
                weight * (double)open->times[(size_t)i * PROBE_TIME_BINS + bin];
    }
    for (size_t i = 0; i < open->open_count; i++) {
        const struct open_count *entry = &open->opens[i];
        const struct analysed_burst *burst = &analysis->bursts[entry->burst];

        opens[burst->cell * strata + entry->stratum] +=
            burst->weight * replicate->factors[entry->burst] * entry->count;
    }
    for (size_t c = 0; c < cells; c++) {
        double *pace = replicate->pace + c * PACE_POINTS;

        if (!(probes[c] > 0))
            continue;
        if (!fate->alone)
            pace_add_times(times + c * PROBE_TIME_BINS, probes[c], open->dilation[c], pace);
        for (size_t g = 0; g < strata; g++)
            for (size_t k = 0; k < PACE_POINTS && opens[c * strata + g] > 0; k++)
                pace[k] +=
                    opens[c * strata + g] / probes[c] * replicate->areas[g * PACE_POINTS + k];
        all += probes[c];
    }
    if (fate->alone)
        estimate_resolved(open, replicate, fate, probes);
    for (size_t c = 0; c < cells && all > 0; c++)
        for (size_t k = 0; k < PACE_POINTS; k++)
            replicate->shared[k] += probes[c] / all * replicate->pace[c * PACE_POINTS + k];
}
