/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/sharing_cost.h"

#include <math.h>
#include <stdlib.h>

#include "report/model/model.h"

/* Where less of the time is in loops of known rate, fewer readings agree, or less of the time is
 * spent elsewhere, ns per access are not told. */
static const double covered_min = 0.5, elsewhere_min = 0.05;

static struct thread_loop loop_of(const struct record_sample *sample, size_t profile)
{
    return (struct thread_loop){profile, sample->thread_id, sample->loop};
}

struct sharing_cost sharing_cost_of(const struct model *model, struct line_user_place *places,
                                    size_t count)
{
    struct sharing_cost cost = {.access_ns = NAN, .elsewhere_ns = NAN};
    double time[2] = {0, 0}, accesses[2] = {0, 0}; /* elsewhere, in these loops */
    struct access_rate_summary rate;
    struct thread_loop *loops;
    size_t loop_count;

    if (model->exact || profile_counts_accesses(model->profiles[0]) || count == 0)
        return cost;
    loop_count = thread_loops_of(model, places, count, &loops);
    for (size_t i = 0; i < analysis_sample_count(model->analysis); i++) {
        size_t profile;
        const struct record_sample *sample = analysis_sample(model->analysis, i, &profile);
        struct line_user_place user = {profile, sample->thread_id, 0};
        struct thread_loop loop = loop_of(sample, profile);
        bool there;

        if (bsearch(&user, places, count, sizeof(user), line_user_threads_compare) == NULL)
            continue;
        there = thread_loops_contain(loops, loop_count, loop);
        time[there] += (double)sample->weight_ns;
        accesses[there] += analysis_sample_weight(model->analysis, i);
    }
    free(loops);
    cost.cpu_ns = time[0] + time[1];
    cost.loops = cost.cpu_ns > 0 ? time[1] / cost.cpu_ns : 0;
    rate = analysis_access_rate(model->analysis);
    if (rate.covered < covered_min)
        return cost;
    if (accesses[1] > 0)
        cost.access_ns = time[1] / accesses[1];
    if (accesses[0] > 0 && time[0] >= elsewhere_min * cost.cpu_ns)
        cost.elsewhere_ns = time[0] / accesses[0];
    return cost;
}
