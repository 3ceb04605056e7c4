/* SPDX-License-Identifier: BSD-3-Clause */
/* The survival of each structure's probes in one replicate, cell by cell. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sectors/sectors_internal.h"
#include "support/memory.h"

/* What open lines of each stratum do at the points of the grid, in one replicate. */
struct stratum_grid {
    double survival[PACE_POINTS], unknown[PACE_POINTS], invalidated[PACE_POINTS];
};

/* Sets the piece's weight, and sums that are to be divided by it: of resolved probes by bins of
 * time, of open ones by stratum. */
static void add_up_piece(const struct sector_model *model, struct sector_piece *piece,
                         uint32_t replicate, double times[PROBE_TIME_BINS])
{
    const struct analysis *analysis = model->analysis;

    memset(times, 0, PROBE_TIME_BINS * sizeof *times);
    memset(model->scratch, 0, analysis->stratum_count * sizeof *model->scratch);
    piece->weight = 0;
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        const struct analysed_probe *probe = &analysis->probes[model->probes[i]];
        double weight = analysis->bursts[probe->burst].weight *
                        replicate_burst_factor(analysis, replicate, probe->burst);

        piece->weight += weight * probe->count;
        model->scratch[analysis->stratum_of[model->probes[i]]] += weight * probe->open;
        for (uint32_t k = probe->first; k < probe->first + probe->entries && weight > 0; k++)
            if (!probe_code_open(analysis->counts[k].code))
                times[probe_code_time(analysis->counts[k].code)] +=
                    weight * analysis->counts[k].count;
    }
}

/* Of the bin's times, those after `time`. */
static double later(unsigned bin, double time)
{
    double low = probe_time_low(bin), high = probe_time_low(bin + 1);

    return time < low ? 1 : time >= high - 1 ? 0 : (high - 1 - time) / (high - low);
}

/* The survival of the piece's probes on the grid. */
static void estimate_piece(const struct sector_model *model, struct sector_piece *piece,
                           uint32_t replicate, const struct stratum_grid *grids)
{
    struct survival_curve *curve = &piece->curve;
    double times[PROBE_TIME_BINS];

    if (!curve->points) {
        curve->points = allocate(PACE_POINTS, sizeof *curve->points);
        curve->capacity = PACE_POINTS;
        curve->linear = true;
    }
    add_up_piece(model, piece, replicate, times);
    curve->count = piece->weight > 0 ? PACE_POINTS : 0;
    for (size_t k = 0; k < curve->count; k++) {
        struct survival_point *point = &curve->points[k];

        *point = (struct survival_point){.time = pace_time(k)};
        for (unsigned bin = 1; bin < PROBE_TIME_BINS; bin++)
            if (times[bin] > 0)
                point->survival += times[bin] * later(bin, floor(point->time));
        for (size_t g = 0; g < model->analysis->stratum_count; g++) {
            if (!(model->scratch[g] > 0))
                continue;
            point->survival += model->scratch[g] * grids[g].survival[k];
            point->unknown += model->scratch[g] * grids[g].unknown[k];
            point->invalidated += model->scratch[g] * grids[g].invalidated[k];
        }
        point->survival /= piece->weight;
        point->unknown /= piece->weight;
        point->invalidated /= piece->weight;
        if (k)
            point->area = point[-1].area + (point->time - point[-1].time) *
                                               (point->survival + point[-1].survival) / 2;
    }
}

void sector_pieces_estimate(struct sector_model *model, uint32_t replicate)
{
    const struct analysis *analysis = model->analysis;
    struct stratum_grid *grids = allocate(analysis->stratum_count + 1, sizeof *grids);

    for (uint32_t g = 0; g < analysis->stratum_count; g++)
        open_lines_grid(analysis, replicate, g, grids[g].survival, grids[g].unknown,
                        grids[g].invalidated);
    for (size_t i = 0; i < model->piece_count; i++)
        estimate_piece(model, &model->pieces[i], replicate, grids);
    free(grids);
}
