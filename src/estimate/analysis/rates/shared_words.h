/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words that several threads move on at the same time, such as a counter that all of them add to:
 * between two bursts of one thread they move by what all of them do. Each is taken to have an even
 * part of that. A word that one thread after the other has is a variable of each.
 *
 * While a burst is looked at, such a word is its own from its first store on. Where stores are
 * rare, others have moved it until then, and its progress per access scatters: it says nothing.
 */
#ifndef REUSE_ANALYSIS_SHARED_WORDS_H
#define REUSE_ANALYSIS_SHARED_WORDS_H

#include <stddef.h>

#include "analysis/rates/progress_observations.h"

/* Divides what such words moved by outside of bursts, and takes those that say nothing out of the
 * list, which it reorders. Returns how many observations are left. */
size_t shared_words_correct(struct observation *, size_t n);

#endif
