/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/line_order.h"

#include <math.h>
#include <stdlib.h>

#include "support/memory.h"

/* Bursts with longer lines that it takes, and resampled runs: its intervals are not asked for. */
enum { BURSTS_MIN = 3, LONGER = 4, REPLICATES = 2 };

/* No four lines are less than one: what comes out far below rests on too little. */
static const double possible = 0.8;

/* The same profiles, analysed with longer lines; NULL: they do not tell. */
static const struct analysis *with_longer_lines(struct model *model)
{
    struct analysis_options options = model->asked;
    char message[512];

    if (model->longer_lines_tried)
        return model->longer_lines;
    model->longer_lines_tried = true;
    options.line_size = LONGER * analysis_line_size(model->analysis);
    options.bootstrap = REPLICATES;
    if (line_size_is_valid(options.line_size))
        model->longer_lines = analysis_create(model->profiles, model->profile_count, &options,
                                              message, sizeof(message));
    return model->longer_lines;
}

/* Those of the members that bursts with longer lines have; returns how many. */
static size_t members_told(const struct model *model, struct subset subset, uint32_t *members,
                           size_t *bursts)
{
    uint32_t last = GROUP_NONE;
    size_t count = 0;

    *bursts = 0;
    for (size_t k = 0; k < subset.member_count; k++) {
        size_t observation = subset.members[k];
        uint32_t burst = analysis_probe(model->analysis, observation, NULL)->burst;

        if ((analysis_probe_burst(model->analysis, observation)->flags & BURST_WIDE) == 0)
            continue;
        *bursts += burst != last;
        last = burst;
        members[count++] = (uint32_t)observation;
    }
    return count;
}

double line_order_of(struct model *model, struct subset subset)
{
    const struct analysis *longer;
    double bytes = (double)model->machine.caches[0].bytes, now, then, order = 0;
    uint32_t *members;
    size_t bursts;

    if (model->exact || model->machine.levels == 0 || subset.members == NULL)
        return 0;
    members = allocate_zeroed(subset.member_count + 1, sizeof(*members));
    subset.member_count = members_told(model, subset, members, &bursts);
    subset.members = members;
    longer = bursts >= BURSTS_MIN ? with_longer_lines(model) : NULL;
    if (longer != NULL) {
        analysis_miss_ratios(model->analysis, subset, &bytes, 1, &now);
        analysis_miss_ratios(longer, subset, &bytes, 1, &then);
        if (now > 0 && then / now >= possible / LONGER)
            order = then / now;
    }
    free(members);
    return order;
}

double line_order_scattered(double order)
{
    double least = 1.0 / LONGER;

    return fmin(1, fmax(0, (order - least) / (1 - least)));
}
