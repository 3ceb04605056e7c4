/* SPDX-License-Identifier: BSD-3-Clause */
/* A number together with how far it can be trusted. */
#ifndef REUSE_ESTIMATE_H
#define REUSE_ESTIMATE_H

/* What a printed number rests on; every table says which. */
enum basis {
    BASIS_SAMPLED,   /* raw counts of observations, not scaled */
    BASIS_ESTIMATED, /* scaled or derived from samples; carries an interval */
    BASIS_EXACT,     /* every access was seen */
    BASIS_MODELLED,  /* follows from a model of a machine */
};

/* lo <= value <= hi; the interval is at 95 % unless stated. lo == hi == value when exact. */
struct estimate {
    double value;
    double lo;
    double hi;
};

#endif
