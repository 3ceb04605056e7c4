/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Survival curves of reuse times from partial, censored observations. Pure; allocates with malloc.
 *
 * S(t) = P(line not reused up to and including t), t in accesses since the use, whether or not it
 * was invalidated meanwhile. A sample is seen by observers that each see a part of what ends it:
 *
 *   window        every visit to the line, from the use to the end of the look-ahead window;
 *   accessed      visits that touch the word that the sample accessed, from there on;
 *   other         visits that do not touch that word, each with a known probability;
 *   crossing      visits of other threads that share the cache;
 *   invalidation  other threads' stores to one word of the line; it ends nothing, but tells which
 *                 reuses come too late.
 *
 * The hazards add up: every end is a product-limit factor 1 - multiplicity / observers at risk,
 * where the multiplicity is the inverse of the probability of seeing it (Kaplan-Meier where that is
 * 1). A reuse at t is a coherence miss with the probability that the line was invalidated up to t.
 * Without a crossing observer nobody but the thread itself is taken to use the line.
 * Observers may start late (left truncation: they count as at risk only while they look) and stop
 * early (right censoring). Strata are estimated apart and mixed by the weight of their samples.
 * Derivations, assumptions and sources: docs/estimators.md.
 */
#ifndef REUSE_REUSE_SURVIVAL_H
#define REUSE_REUSE_SURVIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum observer {
    OBSERVER_WINDOW = 0, /* starts at 0 for every sample */
    OBSERVER_ACCESSED,
    OBSERVER_OTHER,
    OBSERVER_CROSSING,
    OBSERVER_INVALIDATION,
    OBSERVER_COUNT
};

/* Beginnings of windows are implied: every sample of a survival_input has one at time 0. */
struct survival_event {
    double time;        /* accesses since the use; observers see (beginning, end] */
    uint32_t sample;    /* index into the arrays of survival_input */
    float multiplicity; /* ends only: how often the end counts; 0: censored */
    float design;       /* inverse of the probability that the sample got this observer */
    uint8_t observer;   /* enum observer */
    uint8_t begins;     /* 1: the observer begins; 0: it ends */
    /* Ends of OBSERVER_INVALIDATION: 1: another thread's store was seen, whether or not it counts;
     * its multiplicity then is how many visits it stands for. Other observers: 0. */
    uint8_t trapped;
};

/* Sorts events into the order that survival_estimate() needs; a total order, so deterministic.
 * Fastest where events are in order of their samples. 0, or -1: out of memory, nothing sorted. */
int survival_sort(struct survival_event *events, size_t n);

struct survival_input {
    const struct survival_event *events; /* sorted */
    size_t event_count;
    size_t sample_count;        /* samples are numbered 0 .. sample_count-1 */
    const double *weight_of;    /* by sample: accesses that it stands for, >= 0; 0 leaves it out */
    const uint32_t *stratum_of; /* by sample: 0 .. strata-1 */
    uint32_t strata;
    /* By stratum: too few samples were covered by invalidation watches; all such strata share one
     * invalidation hazard. NULL: none. */
    const bool *shares_invalidation;
    /* The same of crossings. NULL: none. */
    const bool *shares_crossing;
    /* Times beyond pivot are stretched: pivot + (time - pivot) * scale. For replicates with another
     * access rate. scale 1 changes nothing. */
    double pivot, scale;
    /* What-if: multiply the hazard that OBSERVER_OTHER sees; 1 changes nothing. */
    double other_factor;
    /* What-if: of what survives the pivot only this share goes on, the rest is reused right there;
     * 1 changes nothing. */
    double beyond_pivot;
    /* What-if: other threads visit a line once at most before its next use, or always in the same
     * words. Then seen stores stand for disjoint parts of the lines, and their shares add up. */
    bool one_visit;
};

/* One more point than steps: point 0 is time 0. A right-continuous step function. */
struct survival_point {
    double time;        /* strictly increasing */
    double survival;    /* non-increasing, in [0, 1] */
    double invalidated; /* P(reused up to time, but invalidated before that), non-decreasing */
    double crossed;     /* P(reused up to time, by another thread), non-decreasing */
    double uncrossed; /* P(no other thread came up to time, whether or not the thread itself did) */
    double unknown;   /* part of survival whose hazard is not (fully) observed any more: the true
                         survival lies between survival - unknown and survival */
    /* Integrals of the four from 0 to time. */
    double survival_area, invalidated_area, crossed_area, unknown_area;
};

struct survival_curve {
    size_t count; /* 0 when there was no sample with a weight */
    size_t capacity;
    struct survival_point *points;
};

/* Estimates into *out, whose memory is reused (start with {0}). 0, or -1 and errno ENOMEM. */
int survival_estimate(const struct survival_input *, struct survival_curve *out);

/* The point that holds at time (the last one with point.time <= time); time >= 0, may be INFINITY.
 */
const struct survival_point *survival_at(const struct survival_curve *, double time);

/* Integral of the survival from 0 to time >= 0. */
double survival_area_at(const struct survival_curve *, double time);

void survival_free(struct survival_curve *);

#endif
