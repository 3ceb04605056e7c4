/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sharing/sharing_cost.h"

#include <math.h>
#include <stdlib.h>

#include "report/model/model.h"
#include "sampling/line_mask.h"

/* Where less of the time is in loops of known rate, fewer readings agree, or less of the time is
 * spent elsewhere, ns per access are not told. */
static const double covered_min = 0.5, elsewhere_min = 0.05;

static int compare_threads(size_t p, uint32_t s, size_t q, uint32_t t)
{
    if (p != q)
        return p < q ? -1 : 1;
    return s < t ? -1 : s > t;
}

static int compare_places(const void *a, const void *b)
{
    const struct line_user_place *x = a, *y = b;
    int order = compare_threads(x->profile, x->thread_id, y->profile, y->thread_id);

    return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

static int compare_users(const void *a, const void *b)
{
    const struct line_user_place *x = a, *y = b;

    return compare_threads(x->profile, x->thread_id, y->profile, y->thread_id);
}

int thread_loops_compare(const void *a, const void *b)
{
    const struct thread_loop *x = a, *y = b;
    int order = compare_threads(x->profile, x->thread_id, y->profile, y->thread_id);

    return order != 0 ? order : (x->loop > y->loop) - (x->loop < y->loop);
}

static struct thread_loop loop_of(const struct record_sample *sample, size_t profile)
{
    return (struct thread_loop){profile, sample->thread_id, sample->loop};
}

size_t thread_loops_of(const struct model *model, struct line_user_place *places, size_t count,
                       struct thread_loop **loops)
{
    uint32_t line_size = analysis_line_size(model->analysis);
    size_t found = 0;

    if (count > 0)
        qsort(places, count, sizeof(*places), compare_places);
    *loops = allocate_zeroed(analysis_sample_count(model->analysis) + 1, sizeof(**loops));
    for (size_t i = 0; i < analysis_sample_count(model->analysis); i++) {
        size_t profile;
        const struct record_sample *sample = analysis_sample(model->analysis, i, &profile);
        struct line_user_place key = {profile, sample->thread_id,
                                      line_start(sample->address, line_size)};

        if (count > 0 && bsearch(&key, places, count, sizeof(key), compare_places) != NULL)
            (*loops)[found++] = loop_of(sample, profile);
    }
    if (found > 0)
        qsort(*loops, found, sizeof(**loops), thread_loops_compare);
    return found;
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

        if (bsearch(&user, places, count, sizeof(user), compare_users) == NULL)
            continue;
        there = bsearch(&loop, loops, loop_count, sizeof(loop), thread_loops_compare) != NULL;
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
