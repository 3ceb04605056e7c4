/* SPDX-License-Identifier: BSD-3-Clause */
/* The normal distribution. Pure. */
#ifndef REUSE_POSTPROC_NORMAL_H
#define REUSE_POSTPROC_NORMAL_H

/* Below what a standard normal value lies with probability p; 0 < p < 1, and far in the tails no
 * more than 40 from 0. */
double normal_quantile(double p);

#endif
