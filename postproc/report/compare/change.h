/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How two estimates from independent runs differ, with an interval.
 *
 * Intervals are combined by the method of variance estimates recovery (Zou and Donner,
 * "Construction of confidence limits about effect measures", Statistics in Medicine 27, 2008): each
 * half of an interval stands for the spread on its side, so that skewed intervals, as a bootstrap
 * gives them, keep their skew. Of ratios: Donner and Zou, "Closed-form confidence intervals for
 * functions of the normal mean and standard deviation", Statistical Methods in Medical Research 21,
 * 2012.
 */
#ifndef REUSE_POSTPROC_REPORT_COMPARE_CHANGE_H
#define REUSE_POSTPROC_REPORT_COMPARE_CHANGE_H

#include <stdbool.h>

#include "estimate.h"

/* A quantity of one side. */
struct figure {
    bool known;
    bool once; /* measured in one run: nothing tells how much runs vary */
    struct estimate value;
};

enum change_verdict {
    CHANGE_UNKNOWN,  /* one side does not know */
    CHANGE_ONCE,     /* one side was measured once */
    CHANGE_NONE,     /* the same, both exact */
    CHANGE_FEW,      /* an interval rests on too few bursts to decide */
    CHANGE_NOT_SEEN, /* the interval holds zero: no difference that these runs can show */
    CHANGE_LESS,
    CHANGE_MORE,
};

struct change {
    struct figure before, after;
    enum change_verdict verdict;
    struct estimate absolute; /* after - before, in the unit of both; if both are known */
    /* after / before - 1; hi may be INFINITY. value is NAN where before is 0. */
    struct estimate relative;
};

/* Both are zero or more. */
struct change change_between(struct figure before, struct figure after);

/* a - b, and a / b, of independent estimates; of a ratio both are at least 0, and b.value above. */
struct estimate estimate_difference(struct estimate a, struct estimate b);
struct estimate estimate_ratio(struct estimate a, struct estimate b);
/* a * b, both at least 0. */
struct estimate estimate_product(struct estimate a, struct estimate b);

/* "less", "more", "the same", "none shown", "too few bursts", "one run" or "not known". */
const char *change_word(enum change_verdict);

#endif
