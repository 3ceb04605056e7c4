/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bytes a debug register is to watch for a sample, and what a trap on them tells about the
 * whole line. A register covers one aligned word of 8 bytes, or on some machines a larger power of
 * two; a line has several such words: by a fair coin the accessed word or another word of the line
 * is watched (docs/estimators.md, "from words to lines"). Pure; signal-safe.
 */
#ifndef REUSE_SAMPLING_WATCH_PLAN_H
#define REUSE_SAMPLING_WATCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "profile/format.h"
#include "sampling/random.h"
#include "sampling/watch_design.h"

/*
 * Whether the word of a sampled access may be watched in all threads. Not if an exclusive pair
 * (ldxr, stxr) uses it: a pair is stepped over as a whole (runtime/watches/step_over.h), so its
 * store would neither start nor end a watch, and threads that contend for the word would hold each
 * other up for ever.
 */
static inline bool watch_plan_suits_all_threads(const struct access *access)
{
    return !access->exclusive;
}

/*
 * What to watch for the next use of the sample's line (address and width are given): fills
 * watch_mode, watch_address (aligned), watch_length and words_accessed. word: bytes that a register
 * covers, a power of two from WATCH_WORD to WATCH_WORD_MAX, at most the line.
 */
void watch_plan_make(struct record_sample *, struct random *, uint32_t word, uint32_t line_size);

/* A uniformly chosen word of the address's line: where other threads' stores are watched for. */
uint64_t watch_plan_any_word(uint64_t address, struct random *, uint32_t line_size);

/*
 * What a visit to the line touches after the access that trapped. Fed with the accesses that follow
 * the trap, up to VISIT_ACCESSES.
 */
struct visit {
    uint64_t line; /* first byte of the line */
    uint32_t line_size, word_size;
    uint64_t trapped_word;
    uint64_t sampled_word; /* accessed word of the original sample */
    bool ends_at_trapped;  /* the last access so far touches the trapped word */
    uint64_t words[LINE_SIZE_MAX / WATCH_WORD / 64]; /* bit per word: touched after the trap */
};

void visit_begin(struct visit *, uint64_t sampled_address, uint64_t trapped_address, uint32_t word,
                 uint32_t line_size);
void visit_feed(struct visit *, const struct access *, size_t n);

/* Other words than the trapped one touched after it. */
unsigned visit_words_after(const struct visit *);

/* Whether the last access of the visit touches the trapped word (true of one word of a visit). */
bool visit_ends_at_trapped(const struct visit *);

/* Whether the originally sampled word is among them. */
bool visit_touches_sampled(const struct visit *);

/* All that together: enum watch_end_flags of a visit that has been followed. */
unsigned visit_flags(const struct visit *);

#endif
