/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words of memory that move on while a program does its work: positions in buffers, counters in
 * structures, sums. What only grows, or only shrinks, says later how far the program has got
 * (docs/measuring-the-rate.md).
 *
 * They are found among the stores of a burst: looked at when found, in the middle of the burst and
 * at its end, they must not go back. They are then known to their thread, and read whenever it is
 * looked at, until they go back about as often as on, or stand still.
 *
 * Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_PROGRESS_H
#define REUSE_SAMPLING_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"

enum {
    PROGRESS_CANDIDATES = 96,
    PROGRESS_SLOTS = 256, /* a power of two, more than candidates */
    PROGRESS_WORDS = 16,
    PROGRESS_NEW_WORDS = 4, /* from one burst */
};

/*
 * From a value to a later one. A word of 4 bytes counts modulo 2^32. One of 8 bytes is a number in
 * floating point if both values would be between 2^-31 and 2^64 as such: as integers these are
 * above 4e18.
 */
double progress_change(uint8_t width, uint64_t from, uint64_t to);

/* ---- words that a burst stores to ---- */

struct progress_candidate {
    uint64_t address;
    uint64_t value; /* when last looked at */
    uint8_t width;  /* bytes: 4 or 8 */
    bool looked;    /* `value` is known */
    bool void_;     /* it went back, or cannot be read */
    uint8_t moves;  /* looks since which it had moved */
    double moved;
};

struct progress_candidates {
    unsigned count;
    uint8_t slots[PROGRESS_SLOTS]; /* 1 + index, by a hash of the address; 0: none */
    struct progress_candidate list[PROGRESS_CANDIDATES];
};

void progress_begin(struct progress_candidates *);

/* Aligned words that these accesses store to. */
void progress_find(struct progress_candidates *, const struct access *, size_t n);

/* known: it could be read, and has that value now. */
void progress_look(struct progress_candidate *, bool known, uint64_t value);

/* ---- words that a thread knows ---- */

struct progress_word {
    uint64_t address; /* 0: none */
    uint8_t width;
    bool found;       /* by the burst under way, which does not count: it was found by moving */
    int8_t direction; /* -1 or 1 */
    uint64_t at_look, at_begin, at_start;
    bool looked;
    bool shared;                  /* other threads moved it while the burst was looked at */
    double before, since, within; /* the look to the burst; burst to burst; in it */
    unsigned idle, forward, back; /* bursts at which it had not moved; moves either way */
};

struct progress_words {
    struct progress_word words[PROGRESS_WORDS];
};

/*
 * The thread is looked at between bursts; a burst begins; it has made its first accesses; it ends.
 * From the burst's first store on the word is its own, and what other threads store to it does not
 * show. So what it moves by in the burst is counted after the first accesses: until then code is
 * decoded, which takes time.
 */
void progress_word_look(struct progress_word *, bool known, uint64_t value);
void progress_word_begin(struct progress_word *, bool known, uint64_t value);
void progress_word_start(struct progress_word *, bool known, uint64_t value);
void progress_words_restart(struct progress_words *); /* its first accesses count as well */
void progress_word_end(struct progress_word *, bool known, uint64_t value);

/* After what the burst showed of it has been noted: forgets words that move back or stand still. */
void progress_words_judge(struct progress_words *);

/* Adds the best of the candidates, if there is room. stack: bounds of the thread's, whose words
 * live less long. */
void progress_words_add(struct progress_words *, struct progress_candidates *, uint64_t stack_low,
                        uint64_t stack_high);

/* Words known that have moved one way for as long as they are known. */
unsigned progress_words_steady(const struct progress_words *);

#endif
