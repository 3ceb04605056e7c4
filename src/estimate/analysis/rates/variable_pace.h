/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast a variable moves on, from its progress in short times, in some of which it was set back:
 * an index that begins anew with each row, a pointer that goes to the next buffer. Pure.
 * docs/estimators.md, section 1.
 */
#ifndef REUSE_ANALYSIS_VARIABLE_PACE_H
#define REUSE_ANALYSIS_VARIABLE_PACE_H

#include <stdbool.h>
#include <stddef.h>

/* After a look at its registers and words a program is slower until caches and predictors are
 * filled again. What it loses by that, and how much that differs: a loop over little data loses 0
 * to 2 us; words of seven programs, which are known over the whole time as well, lost 4 to 15. */
#define LOOK_LOSS_NS 5e3
#define LOOK_LOSS_DEVIATION 4e3

/* The variable in one such time. */
struct pace_reading {
    double ns;      /* > 0, since the look */
    double moved;   /* forward: > 0; it was set back: < 0 */
    double counter; /* what another variable moved by in the same time */
};

struct pace {
    double per_ns;   /* > 0 */
    double variance; /* of ln(per_ns): what readings scatter by, and what looks cost */
    size_t count;    /* readings that it rests on */
    size_t against;  /* and others in times no longer than the longest of these */
};

/* In all three what a look costs follows from the difference between short and long times, as far
 * as that is known better than before. n readings; the order does not matter but in pace_of_most(),
 * where the shortest come first. The list is scratch: its contents are not kept. */

/* The ratio of sums; for a variable that is never set back, or in one reading of a hundred (a loop
 * that begins anew): such a reading is left out, for it may outweigh all others. False: it did not
 * move. */
bool pace_of_all(struct pace_reading *, size_t n, struct pace *);

/* The pace that most readings agree with, the short ones above all: the longer the time, the more
 * likely a reading is one of those in which it was set back. False: no two agree. */
bool pace_of_most(struct pace_reading *, size_t n, struct pace *);

/* For a variable that goes back by the same amount each time, while another one counts how often:
 * the counter's part is found by linear regression and taken away. False: the counter does not
 * explain the readings. */
bool pace_with_counter(struct pace_reading *, size_t n, struct pace *);

#endif
