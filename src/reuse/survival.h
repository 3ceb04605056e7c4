/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Survival curves of reuse times from censored observations. Pure; allocates with malloc.
 * Derivations, assumptions and sources: docs/estimators.md.
 */
#ifndef REUSE_REUSE_SURVIVAL_H
#define REUSE_REUSE_SURVIVAL_H

#include <stddef.h>
#include <stdint.h>

#include "estimate.h"

/* How one watched interval ended. */
enum interval_end {
    INTERVAL_REUSED,
    INTERVAL_INVALIDATED, /* competing risk */
    INTERVAL_CENSORED,    /* evicted, thread or process ended */
    INTERVAL_COLD_END,    /* the data ceased to exist: can never be reused */
};

/* One observed interval. */
struct interval {
    double time;   /* accesses from use to end, >= 1 */
    double weight; /* accesses that the observation stands for, > 0 */
    double hazard_weight; /* multiplicity of the end event (1; 7 for a lone other word): see
                             docs/estimators.md, "from words to lines". 0: end counts as censoring */
    enum interval_end end;
};

/* A right-continuous step function; time[i] strictly increasing, value[i] non-increasing for S. */
struct survival_curve {
    size_t count;
    double *time;      /* accesses */
    double *survival;  /* P(not reused, and not invalidated, up to and including time) */
    double *invalidated; /* cumulative incidence of invalidation up to time (Aalen-Johansen) */
    double *variance;  /* of survival (Greenwood) */
    double longest;    /* longest time anybody was under observation: nothing is known beyond */
};

/* Kaplan-Meier with competing risks over n intervals (weights allowed). 0 or -1 (errno). */
int survival_estimate(const struct interval *intervals, size_t n, struct survival_curve *out);

/*
 * Mixture of strata: sum of share[k] * curve[k]; shares sum to 1. Beyond a stratum's longest time its
 * last value is kept, and out->longest is the time up to which strata of at least 95 % of the share
 * are known. 0 or -1.
 */
int survival_mix(const struct survival_curve *curves, const double *shares, size_t n,
                 struct survival_curve *out);

double survival_at(const struct survival_curve *, double time);
double invalidated_at(const struct survival_curve *, double time);
void survival_free(struct survival_curve *);

#endif
