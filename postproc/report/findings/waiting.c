/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/waiting.h"

#include <math.h>
#include <stdlib.h>

/* Cycles by which the second cache is later than the first (isa/pipeline.c). */
static const double near_latency = 14;

/* Bursts with fewer new lines say nothing of what these cost. */
static const double new_lines_min = 16;

/* The part that a burst's code waits for; below 0: not known. */
static double part_of(const struct record_progress *record)
{
    double held = -1, near = -1, lines = 0;

    for (uint32_t k = 0; k < record->count; k++) {
        const struct progress_variable *variable = &record->variables[k];

        if (variable->kind != PROGRESS_MODEL)
            continue;
        if (variable->place == PROGRESS_HELD_CYCLES)
            held = variable->within;
        else if (variable->place == PROGRESS_NEAR_CYCLES)
            near = variable->within;
        else if (variable->place == PROGRESS_NEW_LINES)
            lines = variable->within;
    }
    if (held < 0 || near < 0 || lines < new_lines_min)
        return -1;
    return fmin(1, fmax(0, near - held) / (lines * near_latency));
}

static double *parts_of(const struct profile *profile)
{
    double *parts = allocate(profile->bursts.count + 1, sizeof(*parts));

    for (size_t i = 0; i < profile->bursts.count; i++)
        parts[i] = -1;
    for (size_t i = 0; i < profile->progress.count; i++) {
        size_t burst = profile_burst_index(profile, profile->progress.items[i]->burst_id);

        if (burst < profile->bursts.count)
            parts[burst] = part_of(profile->progress.items[i]);
    }
    return parts;
}

static void find_parts(struct model *model)
{
    model->waiting = allocate_zeroed(model->profile_count + 1, sizeof(*model->waiting));
    for (size_t p = 0; p < model->profile_count; p++)
        model->waiting[p] = parts_of(model->profiles[p]);
}

double waiting_of(struct model *model, struct subset subset)
{
    double sum = 0, weight = 0;

    if (model->exact)
        return 1;
    if (model->waiting == NULL)
        find_parts(model);
    for (size_t k = 0; k < subset.member_count; k++) {
        size_t observation = subset.members[k], profile;
        const struct record_burst *burst = analysis_probe_burst(model->analysis, observation);
        double own = analysis_probe_weight(model->analysis, observation), part;

        analysis_probe(model->analysis, observation, &profile);
        part =
            model->waiting[profile][profile_burst_index(model->profiles[profile], burst->burst_id)];
        if (part < 0)
            continue;
        sum += own * part;
        weight += own;
    }
    return weight > 0 ? sum / weight : 1;
}

void waiting_free(struct model *model)
{
    for (size_t p = 0; model->waiting != NULL && p < model->profile_count; p++)
        free(model->waiting[p]);
    free(model->waiting);
}
