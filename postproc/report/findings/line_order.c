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
static size_t members_told(const struct model *model, const struct subset *subset,
                           uint32_t *members, size_t *bursts)
{
    uint32_t last = GROUP_NONE;
    size_t count = 0;
    bool wide = false;

    *bursts = 0;
    for (size_t k = 0; k < subset->member_count; k++) {
        size_t observation = subset->members[k];
        uint32_t burst = analysis_probe(model->analysis, observation, NULL)->burst;

        if (burst != last) {
            wide = analysis_probe_burst(model->analysis, observation)->flags & BURST_WIDE;
            *bursts += wide;
        }
        last = burst;
        if (wide)
            members[count++] = (uint32_t)observation;
    }
    return count;
}

/* Replaces the subsets by what of them is told; the caller frees what they list then. Returns
 * whether that is enough of any. */
static bool list_told(const struct model *model, struct subset *subsets, size_t count,
                      uint32_t **members)
{
    size_t all = 0, told = 0, bursts;
    bool any = false;

    for (size_t s = 0; s < count; s++)
        all += subsets[s].member_count;
    *members = allocate(all + 1, sizeof(**members));
    for (size_t s = 0; s < count; s++) {
        size_t own = members_told(model, &subsets[s], *members + told, &bursts);

        subsets[s].members = *members + told;
        subsets[s].member_count = bursts >= BURSTS_MIN ? own : 0;
        told += subsets[s].member_count;
        any |= bursts >= BURSTS_MIN;
    }
    return any;
}

void line_orders_of(struct model *model, const struct subset *subsets, size_t count, double *orders)
{
    const struct analysis *longer = NULL;
    double bytes = (double)model->machine.caches[0].bytes;
    struct subset *told;
    uint32_t *members;
    double *now, *then;

    for (size_t s = 0; s < count; s++)
        orders[s] = 0;
    if (model->exact || model->machine.levels == 0)
        return;
    told = allocate(count + 1, sizeof(*told));
    for (size_t s = 0; s < count; s++)
        told[s] = subsets[s];
    now = allocate(2 * count + 1, sizeof(*now));
    then = now + count;
    if (list_told(model, told, count, &members))
        longer = with_longer_lines(model);
    if (longer != NULL) {
        analysis_miss_ratios_of(model->analysis, told, count, &bytes, 1, now);
        analysis_miss_ratios_of(longer, told, count, &bytes, 1, then);
    }
    for (size_t s = 0; s < count && longer != NULL; s++)
        if (told[s].member_count > 0 && now[s] > 0 && then[s] / now[s] >= possible / LONGER)
            orders[s] = then[s] / now[s];
    free(now);
    free(members);
    free(told);
}

double line_order_of(struct model *model, struct subset subset)
{
    double order = 0;

    if (subset.members != NULL)
        line_orders_of(model, &subset, 1, &order);
    return order;
}

double line_order_scattered(double order)
{
    double least = 1.0 / LONGER;

    return fmin(1, fmax(0, (order - least) / (1 - least)));
}
