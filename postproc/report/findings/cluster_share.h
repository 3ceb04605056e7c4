/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A share of the CPU time from bursts, each of which stands for a part of that: the ratio of two
 * sums over clusters (Cochran 1977, 6.8), the burst being the cluster. Pure.
 */
#ifndef REUSE_POSTPROC_CLUSTER_SHARE_H
#define REUSE_POSTPROC_CLUSTER_SHARE_H

#include <stddef.h>

#include "estimate.h"

/* Of all bursts: their weights, and the squares of these. */
struct cluster_weights {
    double w, ww;
    size_t bursts;
};

void cluster_weights_add(struct cluster_weights *, double weight);

/* Of bursts of weight w with a share s. */
struct cluster_sums {
    double ws, wws, wwss;
    size_t bursts; /* with a share above 0 */
};

void cluster_sums_add(struct cluster_sums *, double weight, double share);

/* The mean share, 0 to 1, with its interval at 95 %; of fewer than two bursts up to 1. */
struct estimate cluster_share(const struct cluster_sums *, const struct cluster_weights *);

#endif
