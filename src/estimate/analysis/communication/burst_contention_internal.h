/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of burst_contention share. Nobody else includes it. */
#ifndef REUSE_ANALYSIS_BURST_CONTENTION_INTERNAL_H
#define REUSE_ANALYSIS_BURST_CONTENTION_INTERNAL_H

#include "analysis/communication/burst_contention.h"
#include "analysis/communication/contention.h"

/* An actor or act for which there was no room. */
enum { NOWHERE = UINT32_MAX };

/* One line, its uses by time, and what is being found of it. Only out outlives the search. */
struct line_model {
    const struct analysis *analysis;
    enum burst_parties parties;
    const struct burst_use *uses;
    size_t count;
    struct burst_contention *out;
    uint32_t (*act_of)[2]; /* by use: of its loads, of its stores; or NOWHERE */
    uint32_t *actor_of;    /* by use; or NOWHERE */
    double *seen;          /* as out->transfers: changes of hands */
    double *pairs;         /* [2][actor][actor] */
    double span;           /* ns from the first use to the last, and what they stand for around */
    struct line_user *others; /* room for three times as many as there are actors */
    uint32_t *other_actors;   /* which actors the first of these are */
};

/* Index into out->transfers; kind: enum transfer_kind, one that moves a line. */
static inline size_t burst_contention_cell(const struct burst_contention *contention, size_t source,
                                           size_t destination, unsigned kind)
{
    return (source * contention->act_count + destination) * BURST_KINDS + kind - TRANSFER_RAW;
}

/* Whether transfers between the two actors are sought here. */
bool line_model_are_parties(const struct line_model *, uint32_t one, uint32_t other);

/* Whether the two threads existed at the same time. Of others the later one may get the earlier
 * one's stack, or its blocks of the heap: each line of these comes over once, and nobody fights
 * over it. */
bool line_model_live_together(const struct line_model *, uint32_t one, uint32_t other);

/*
 * burst_contention_model.c: adds to out->transfers what random meetings of the threads come to, bin
 * of time by bin, and sets span. Actors and acts are listed; theirs of one bin are left behind.
 */
void line_model_add_bins(struct line_model *);

#endif
