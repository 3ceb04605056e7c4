/* SPDX-License-Identifier: BSD-3-Clause */
#include "sampling/stretches.h"

double stretches_ns_per_visit(struct stretch brief, struct stretch lengthy)
{
    double visits = lengthy.visits - brief.visits;

    return visits > 0 ? (lengthy.ns - brief.ns) / visits : 0;
}

bool stretch_is_plausible(struct stretch stretch, double ns_per_visit, double slower, double faster,
                          double slack_ns)
{
    double expected = stretch.visits * ns_per_visit;

    return expected > 0 && stretch.ns <= expected * slower + slack_ns &&
           stretch.ns >= expected / faster - slack_ns;
}

double stretch_loss(struct stretch brief, struct stretch lengthy)
{
    double ns_per_visit = stretches_ns_per_visit(brief, lengthy);

    return ns_per_visit > 0 ? brief.ns - brief.visits * ns_per_visit : brief.ns;
}
