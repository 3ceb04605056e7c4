/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When are lines used next that were not used again in their burst? From watches on a few of them
 * (docs/estimators.md, "Watches of open lines"). Pure.
 *
 * Time is that since the end of the burst, up to which all lines are known to be open: from there
 * on every watch looks, until it ends or is taken away, which has nothing to do with the line. On a
 * clock that began with the use the first watches to enter would be few, and decide about all. A
 * watch sees a part of what ends the wait: visits that end in its word. One observer is on the word
 * that the probe accessed, the other on one of the other words; their hazards add up:
 *
 *     product-limit factor  1 - multiplicity * v_j / sum of v at risk of that observer
 *
 * (Kaplan and Meier 1958; late entry: Tsai, Jewell and Wang 1987), with v the watches' weights.
 * That the run ends, or the block dies, both observers see: the line is never used again. Others
 * that share the cache come to the line with a hazard that is given.
 */
#ifndef REUSE_REUSE_OPEN_SURVIVAL_H
#define REUSE_REUSE_OPEN_SURVIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum open_end {
    OPEN_CENSORED = 0,
    OPEN_USED,
    OPEN_NEVER, /* the run ended, or what the line was a part of ceased to exist */
};

struct open_watch {
    double exit;        /* accesses since the end of the burst, > 0 */
    uint8_t end;        /* enum open_end, at exit */
    bool accessed;      /* on the word that the probe accessed, else on another one of its line */
    bool whole;         /* there is no other word: at risk of both */
    float design;       /* inverse of the probability of this observer: 2 by a coin, else 1 */
    float multiplicity; /* of a use: visits that it stands for; 0: it is left to other observers */
};

/* A product-limit step of somebody else's observation. */
struct open_hazard {
    double time, hazard;
    double multiplicity;
    uint32_t number; /* the caller's: that of its step */
};

enum open_step_kind { STEP_USED, STEP_NEVER, STEP_CROSSED };

struct open_step {
    double time;
    double mass;     /* of all open lines: this share ends here */
    uint32_t number; /* of the watch, or the crossing's */
    uint8_t kind;    /* enum open_step_kind */
};

struct open_rest {
    double left;      /* share that nobody saw end */
    double until;     /* up to this time somebody watched; 0: nobody ever did */
    double lost;      /* when the first of the two observers had nobody left, and what was left */
    double lost_mass; /* then; both are those of the end where both lasted */
};

/*
 * by_exit: the numbers of the watches in order of exit, of equal ones ends that count before
 * censored ones. weight: by watch, >= 0, 0 leaves it out. crossings: ascending. Writes at most
 * n + crossing_count steps, ascending; returns how many.
 */
size_t open_survival(const struct open_watch *watches, const uint32_t *by_exit, size_t n,
                     const double *weight, const struct open_hazard *crossings,
                     size_t crossing_count, struct open_step *steps, struct open_rest *rest);

/* Orders watches for that. */
void open_survival_order(const struct open_watch *watches, size_t n, uint32_t *by_exit);

/*
 * What is left after an end with this hazard: 1 - hazard keeps the product unbiased; where few
 * observers of a multiple end make the hazard exceed what a factor can express, the continuous
 * limit bounds the loss.
 */
double open_left_after(double hazard, double multiplicity);

#endif
