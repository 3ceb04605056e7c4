/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of CPU time. Bursts are taken at random moments of CPU time, each stands for a part of it;
 * within a burst, time is dealt out by what its accesses cost (access_costs.h), all of them
 * together no more than it waited, where that is known (modelled_pace.h). A burst that ended for
 * want of accesses took at least the time that its instructions need, and at moments without an
 * access (burst_time_silent()) memory takes nothing.
 */
#ifndef REUSE_POSTPROC_BURST_TIME_H
#define REUSE_POSTPROC_BURST_TIME_H

#include "report/findings/cluster_share.h"
#include "report/model/model.h"

/* Expiries at which the thread made no memory access for thousands of instructions: moments of the
 * CPU time like others. */
size_t burst_time_silent(const struct model *);

/* How accesses come to the lines that they miss. */
enum time_kind {
    TIME_SCATTERED,
    TIME_IN_ORDER, /* they follow each other */
    TIME_CROWDED,  /* more of them than a set of the cache has room for */
    TIME_KINDS,
};

/* Accesses that are alike in what they cost. */
struct time_part {
    struct estimate cost_ns; /* that misses add to each access */
    enum time_kind kind;
    struct estimate share; /* result: part of the CPU time that this takes */
    size_t bursts;         /* result: in which the part occurs; 0 of exact profiles */
};

/* What a burst waited beyond what its code and its misses need. */
struct burst_wait {
    size_t observation; /* the last of its burst */
    double weight;      /* CPU time that it stands for, ns */
    /* Of that. lo: if code takes 1.6 times as long as modelled, and misses three times their
       latencies; hi: if code is as much faster, and misses are waited for
       nowhere. Below 0: rate or pace is not known. */
    struct estimate share;
};

/* Bursts in loops that use lines which threads fight over. */
struct contended_bursts {
    bool *fought;                   /* by observation: its burst is one; NULL: none is */
    ARRAY(struct burst_wait) waits; /* result */
    struct cluster_weights all;     /* result: of all bursts of the run */
};

/*
 * labels: the part of each observation, GROUP_NONE or `count` and above: costs no more than a hit.
 * hit_ns: of an access that misses nowhere; 0: the parts' costs have it in them, and are taken as
 * they are, however long the burst waited. objects: the parts are data objects, see struct subset.
 * contended: may be NULL. Fills in shares; returns that of all parts together. Of exact profiles
 * shares are those of the modelled time, without interval.
 */
struct estimate burst_time_shares(const struct model *, const uint32_t *labels,
                                  struct time_part *parts, size_t count, double hit_ns,
                                  bool objects, struct contended_bursts *contended);

/*
 * Shares of the CPU time by what the thread was doing when its burst began. labels: of each burst
 * (see burst_time_moments()), groups 0 .. count - 1. The caller frees shares[count].
 */
struct moment {
    const struct record_burst *burst;
    size_t profile;
    struct code_line line; /* of the instruction; function NULL: not known */
};
typedef ARRAY(struct moment) moment_list;
void burst_time_moments(struct model *, moment_list *);
struct estimate *burst_time_of_moments(const moment_list *, const uint32_t *labels, size_t count);

#endif
