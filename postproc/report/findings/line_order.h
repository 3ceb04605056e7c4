/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether new lines follow each other, as prefetchers want them: from bursts that were looked at
 * with longer lines as well. */
#ifndef REUSE_POSTPROC_LINE_ORDER_H
#define REUSE_POSTPROC_LINE_ORDER_H

#include "report/model/model.h"

/*
 * New lines in a cache of the innermost one's size, if lines are four times as long, per new line
 * as they are: a quarter where lines follow each other, one where they are scattered. 0: not known.
 * Sampled profiles; the subset has to list its members. The first call takes about as long as
 * analysing the profile.
 */
double line_order_of(struct model *, struct subset);
/* The same of many that have no observation in common, by one walk over the profile. */
void line_orders_of(struct model *, const struct subset *, size_t count, double *orders);

/* Part of the new lines that do not follow others: 0 .. 1, of what line_order_of() returned. */
double line_order_scattered(double order);

#endif
