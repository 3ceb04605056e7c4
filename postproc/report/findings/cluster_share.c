/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/findings/cluster_share.h"

#include <math.h>

void cluster_weights_add(struct cluster_weights *all, double weight)
{
    all->w += weight;
    all->ww += weight * weight;
    all->bursts++;
}

void cluster_sums_add(struct cluster_sums *sums, double weight, double share)
{
    sums->bursts += share > 0;
    sums->ws += weight * share;
    sums->wws += weight * weight * share;
    sums->wwss += weight * weight * share * share;
}

struct estimate cluster_share(const struct cluster_sums *sums, const struct cluster_weights *all)
{
    double n = (double)all->bursts, share, variance, half;

    if (!(all->w > 0))
        return (struct estimate){0, 0, 1};
    share = fmin(1, sums->ws / all->w);
    if (n < 2)
        return (struct estimate){share, 0, 1};
    variance = (sums->wwss - 2 * share * sums->wws + share * share * all->ww) / (all->w * all->w);
    /* Quantile of Student's distribution, to a few percent. */
    half = (1.96 + 2.6 / (n - 1)) * sqrt(fmax(0, variance) * n / (n - 1));
    return (struct estimate){share, fmax(0, share - half), fmin(1, share + half)};
}
