/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much slower code is that leaves many lines open: lines that a burst touches and does not use
 * again are far from being in a small cache. With x the share of a burst's probes that stay open,
 *
 *     rate = base * (1 + 40 x)^-c.
 *
 * A line that comes from a cache of a million bytes takes some ten times as long as an access that
 * hits, one from memory a hundred times. Which of them it is the burst does not tell: c is about 1,
 * and is fitted to those loops of the run that have been read. Pure.
 */
#ifndef REUSE_ANALYSIS_OPEN_COST_H
#define REUSE_ANALYSIS_OPEN_COST_H

#include "profile/format.h"

/* ln(1 + 40 x); >= 0. */
double open_cost_log(const struct record_burst *);

/* Sums over loops of a run. All zero: none yet. */
struct open_cost_fit {
    double weight, open, rate, open_squared, product;
};

/* A loop: ln(rate), its mean open_cost_log(), and the deviation of ln(rate) from what the model
 * says. */
void open_cost_add(struct open_cost_fit *, double log_rate, double log_open, double deviation);

/* c, given what is known before of ln(base); from 0 to 2. */
double open_cost_exponent(const struct open_cost_fit *, double log_base, double deviation);

#endif
