/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances of open lines: what all replicates have in common is found once, in the order in which
 * they go through the watches. */
#include <math.h>
#include <stdlib.h>

#include "analysis/curves/open_lines_internal.h"
#include "support/memory.h"

static struct known_line line_of(const struct open_lines *open, uint32_t burst, double distance,
                                 double ahead)
{
    const struct analysed_burst *of = &open->analysis->bursts[burst];
    struct known_line line = {.distance = distance,
                              .ahead = pace_place_of(ahead),
                              .accesses = ahead,
                              .burst = burst,
                              .cell = of->cell,
                              .loop = of->loop};

    if (open->own_pace)
        line.own = pace_at(open->own_pace + (size_t)of->cell * PACE_POINTS, ahead / of->dilation);
    return line;
}

void open_distances_create(struct open_lines *open)
{
    const struct analysis *analysis = open->analysis;

    open->watched = allocate(analysis->watch_count + 1, sizeof *open->watched);
    open->crossed = allocate(analysis->crossing_count + 1, sizeof *open->crossed);
    for (size_t i = 0; i < analysis->watch_count; i++) {
        const struct analysed_watch *watch = &analysis->watches[analysis->by_stratum[i]];

        open->watched[i] = (struct watched_line){
            .line = line_of(open, watch->burst, watch->distance, watch->ahead),
            .weight = watch->weight,
            .covered = watch->covered > 0};
    }
    for (size_t i = 0; i < analysis->crossing_count; i++) {
        const struct crossing *crossing = &analysis->crossings[i];

        open->crossed[i] = line_of(open, crossing->burst, crossing->distance, crossing->ahead);
    }
}

void open_distances_free(struct open_lines *open)
{
    free(open->watched);
    free(open->crossed);
}

double open_distance(const struct open_lines *open, const struct replicate *replicate,
                     const struct known_line *line, struct pace_place use)
{
    const double *pace = replicate->assumption == ASSUME_ADDED_LINES
                             ? replicate->shared
                             : replicate->pace + (size_t)line->cell * PACE_POINTS;
    double known = pace_at_place(pace, line->ahead), then = pace_at_place(pace, use);
    double distance = line->distance;

    if (open->own_pace)
        distance += fmax(0, known - line->own);
    if (replicate->assumption == ASSUME_ADDED_LINES || !(known > 0))
        return fmax(0, distance + then - known);
    return distance * then / known;
}
