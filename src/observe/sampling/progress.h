/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words of memory that move on while a program does its work: positions in buffers, counters in
 * structures, variables of loops that are kept in memory. They are found among the stores of a
 * burst: a word that is stored to again and again, with values that only grow or only shrink, says
 * later how far the program has got.
 *
 * The burst is looked at in parts of PROGRESS_PART accesses. A word is found in one part and
 * followed through the rest: what was seen when it was found does not count, because it was found
 * by having moved.
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
    PROGRESS_PART = 512, /* accesses */
    PROGRESS_WORDS = 192,
    PROGRESS_SLOTS = 512, /* a power of two, more than words */
};

/* What a variable did over some accesses. */
struct progress {
    double moved;   /* sum of its changes */
    double squares; /* of those of single parts: their sum */
    unsigned parts;
    uint64_t accesses;
};

struct progress_word {
    uint64_t address;
    uint8_t width; /* bytes: 4 or 8 */
    bool kept;     /* in the table from an earlier burst: it need not move */
    bool begun;    /* `value` is known */
    bool void_;    /* it moved back and forth, or cannot be read */
    uint64_t value;
    uint64_t accesses; /* when it had that value */
    unsigned changes;
    struct progress progress;
};

struct progress_words {
    unsigned count;
    uint16_t slots[PROGRESS_SLOTS]; /* 1 + index, by a hash of the address; 0: none */
    struct progress_word words[PROGRESS_WORDS];
};

/* From a value to a later one; a word of 4 bytes counts modulo 2^32. */
double progress_change(uint8_t width, uint64_t from, uint64_t to);

void progress_begin(struct progress_words *);

/* A word that is known from earlier bursts; false: no room. */
bool progress_keep(struct progress_words *, uint64_t address, uint8_t width);

/* Aligned words that these accesses store to are followed from now on. */
void progress_find(struct progress_words *, const struct access *, size_t n);

/* The word's value after so many accesses of the burst. known: it could be read. */
void progress_look(struct progress_word *, bool known, uint64_t value, uint64_t accesses);

/* It moved in most parts, one way. */
bool progress_is_steady(const struct progress_word *);

/* How evenly, 0 to 1: 1 if by as much in each part. */
double progress_evenness(const struct progress *);

#endif
