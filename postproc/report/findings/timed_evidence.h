/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the lines of a place come from, as loads that were timed tell (docs/measuring-the-rate.md,
 * "Timed lines"): measured, without a hardware counter. */
#ifndef REUSE_POSTPROC_TIMED_EVIDENCE_H
#define REUSE_POSTPROC_TIMED_EVIDENCE_H

#include <stddef.h>

struct model;
struct subset;

struct timed_evidence {
    size_t bursts;             /* that timed loads of its instructions */
    double timed, from_memory; /* loads */
};

/* Of the instructions that the subset lists. Nothing of exact profiles. */
struct timed_evidence timed_evidence_of(const struct model *, struct subset);

/* Of lines that were not used lately at least this share comes from memory: Wilson's lower bound at
 * 95 %, with the bursts as the number of trials, for loads of one burst are alike. 0: not known. */
double timed_evidence_least(const struct timed_evidence *);

#endif
