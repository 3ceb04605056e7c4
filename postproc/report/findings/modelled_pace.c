/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/modelled_pace.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/rates/modelled_burst.h"

/* Bursts with fewer new lines say nothing of what these cost. */
static const double new_lines_min = 16;

struct modelled_pace {
    double held_ns; /* per access; 0: not known */
    double waited;  /* below 0: not known */
};

static struct modelled_pace pace_of(const struct record_progress *record)
{
    const struct progress_variable cycles = modelled_burst(record, PROGRESS_HELD_CYCLES);
    double held = cycles.within, accesses = cycles.accesses;
    double clock = modelled_burst(record, PROGRESS_CYCLES_PER_NS).within;
    double lines = modelled_burst(record, PROGRESS_NEW_LINES).within;
    double later = modelled_burst(record, PROGRESS_NEAR_CYCLES).within - held;
    struct modelled_pace pace = {.waited = -1};

    if (!(held > 0) || !(accesses > 0))
        return pace;
    if (clock > 0)
        pace.held_ns = held / clock / accesses;
    if (lines >= new_lines_min)
        pace.waited = fmin(1, fmax(0, later) / (lines * PROGRESS_NEAR_LATENCY));
    return pace;
}

static struct modelled_pace *paces_of(const struct profile *profile)
{
    struct modelled_pace *paces = allocate(profile->bursts.count + 1, sizeof(*paces));

    for (size_t i = 0; i < profile->bursts.count; i++)
        paces[i] = (struct modelled_pace){.waited = -1};
    for (size_t i = 0; i < profile->progress.count; i++) {
        size_t burst = profile_burst_index(profile, profile->progress.items[i]->burst_id);

        if (burst < profile->bursts.count)
            paces[burst] = pace_of(profile->progress.items[i]);
    }
    return paces;
}

void modelled_paces_find(struct model *model)
{
    model->paces = allocate_zeroed(model->profile_count + 1, sizeof(*model->paces));
    for (size_t p = 0; p < model->profile_count; p++)
        model->paces[p] = paces_of(model->profiles[p]);
}

void modelled_paces_free(struct model *model)
{
    for (size_t p = 0; model->paces != NULL && p < model->profile_count; p++)
        free(model->paces[p]);
    free(model->paces);
}

static struct modelled_pace pace_at(const struct model *model, size_t observation)
{
    const struct record_burst *burst = analysis_probe_burst(model->analysis, observation);
    size_t profile;

    analysis_probe(model->analysis, observation, &profile);
    return model->paces[profile][profile_burst_index(model->profiles[profile], burst->burst_id)];
}

double modelled_held_ns(const struct model *model, size_t observation)
{
    return model->exact ? 0 : pace_at(model, observation).held_ns;
}

double modelled_waiting(const struct model *model, struct subset subset)
{
    double sum = 0, weight = 0;

    if (model->exact)
        return 1;
    for (size_t k = 0; k < subset.member_count; k++) {
        double waited = pace_at(model, subset.members[k]).waited;
        double own = analysis_probe_weight(model->analysis, subset.members[k]);

        if (waited < 0)
            continue;
        sum += own * waited;
        weight += own;
    }
    return weight > 0 ? sum / weight : 1;
}
