/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the target and the estimators have to agree on about watches: how much of a line a register
 * covers, how far a visit is followed, and with which probability a word of a line is watched.
 * Pure; signal-safe but for the probability, which is for estimators.
 */
#ifndef REUSE_SAMPLING_WATCH_DESIGN_H
#define REUSE_SAMPLING_WATCH_DESIGN_H

#include <stdint.h>

#include "profile/format.h"

enum {
    WATCH_WORD = 8,       /* bytes that any machine's register can watch */
    WATCH_WORD_MAX = 128, /* that the largest can, as far as a record can tell */
    VISIT_ACCESSES = 384, /* how far a visit to a line is followed after a trap */
};

/* Probability that address2 was the word of that index in the line (docs/estimators.md). */
double line_watch_word_probability(const struct record_line_watch *, uint32_t line_size,
                                   uint32_t word);

#endif
