/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which heap blocks are tracked. To follow every block costs more than many a block is worth, and
 * bursts of accesses meet so many blocks that a sample of them tells the shares of the sites that
 * allocate them.
 *
 * - Blocks of BLOCK_CHOICE_SMALL bytes and more are tracked for certain while tracking is not dear
 *   (below), and chosen as smaller ones while it is: a program may make a buffer anew for each line
 *   that it reads, or an array for each step that it computes.
 * - Those of BLOCK_CHOICE_LARGE and more have a choice of their own, which counts what they take
 *   alone: whole arrays matter one by one, and small blocks that are dear say nothing of them.
 * - Of what is chosen every stratum of 4^k allocations in a row has exactly one that is tracked,
 *   at a place drawn uniformly: each with probability 4^-k, whatever the program's own period. It
 *   weighs 4^k = 2^tracked_log2 in every sum (Horvitz and Thompson 1952; for strata, Cochran,
 *   Sampling Techniques, 3rd edition 1977, chapter 5).
 * - Each place that allocates begins with k = 0 and rises to the next k, up to 4, after 16, 32, 64,
 *   128 chosen ones. So what is allocated a few times is known for certain, and 1 of 256 is known
 *   of what is allocated by the million.
 * - While chosen blocks are dear, that is, have taken the thread more than BLOCK_CHOICE_ADVANCE_NS
 *   and one part in BLOCK_CHOICE_ONE_IN of its time, a place goes on to k = 4 at once, and to k = 5
 *   after 16 more: a compiler allocates at a thousand sites, an interpreter ten million blocks a
 *   second, and a chosen block costs 1 to 3 us. Not so in a choice that is gradual, that of the
 *   large ones, which come from few places and cost 0.3 us: there the first 16 of a place are known
 *   for certain; then k is 1, and one more for each BLOCK_CHOICE_STEP_NS that they have taken
 *   beyond that part. So k comes to rest where as many are tracked as the part pays for.
 *
 * k is settled before the draws that it governs, so the weights are right whatever it is
 * (docs/estimators.md).
 *
 * A place is a class of the caller's instruction and stack pointers and of the order of the size:
 * the stack pointer tells apart many of those who call through one common function. Places may
 * share an element of the table by chance; that costs accuracy, not truth. The table is small,
 * since it bounds what a program with thousands of places pays before the probabilities have come
 * down.
 *
 * One table and its skips per thread, used by that thread alone outside of its own signal handlers.
 * They belong together. Signal-safe.
 */
#ifndef REUSE_OBJECTS_BLOCK_CHOICE_H
#define REUSE_OBJECTS_BLOCK_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BLOCK_CHOICE_SMALL = 4096,
    BLOCK_CHOICE_LARGE = 65536,
    BLOCK_CHOICE_PLACES_LOG2 = 7,
    BLOCK_CHOICE_TRACKED_LOG2_CHEAP = 8, /* as far as it rises while they are not dear */
    BLOCK_CHOICE_TRACKED_LOG2_MAX = 10,
    BLOCK_CHOICE_ADVANCE_NS = 500 * 1000,
    BLOCK_CHOICE_ONE_IN = 128,
    BLOCK_CHOICE_STEP_NS = 25 * 1000, /* 10 to 100: no difference, but in what it takes once */
};

/* Allocations to pass over at each place before the one that is chosen; < 0: it has come. All zero
 * to begin with. Apart from the rest, so that it can lie where a thread finds it without a pointer.
 */
struct block_choice_skips {
    int16_t of[1 << BLOCK_CHOICE_PLACES_LOG2];
};

struct block_choice_place {
    uint16_t rest;        /* of the stratum, after the one that is chosen */
    uint8_t chosen;       /* at this probability */
    uint8_t tracked_log2; /* one of 2^this is chosen */
};

/* All zero to begin with, but for random_state, which is not 0, and gradual. */
struct block_choice {
    uint64_t random_state;
    uint64_t began_ns, spent_ns; /* when time was first told of; what has been spent by now */
    uint64_t over_ns;            /* so much too much */
    bool dear;
    bool gradual; /* set at the beginning */
    struct block_choice_place places[1 << BLOCK_CHOICE_PLACES_LOG2];
};

/* The number of the place. */
static inline unsigned block_choice_place(uint64_t ip, uint64_t stack_pointer, size_t size)
{
    /* Hardly two calls lie so near each other that the order, at most 63, would confuse them. Stack
     * pointers differ in multiples of 16. */
    const uint64_t order = 63u ^ (unsigned)__builtin_clzll(size | 8);
    /* Golden ratio. */
    return (uint32_t)(ip + (stack_pointer << 8) + order) * UINT32_C(0x9e3779b1) >>
           (32 - BLOCK_CHOICE_PLACES_LOG2);
}

/*
 * True: the block is not tracked. False: it is; block_choice_take() tells its probability, or
 * block_choice_leave() leaves the choice to the place's next block.
 *
 * As few instructions as can be: in a heap of 5 million blocks of which one is replaced at random,
 * over and over, ten instructions more in malloc() took 40 % more time, since the processor then no
 * longer looks far enough ahead for one replacement's cache misses to overlap the next one's (AMD
 * Zen 4).
 */
static inline bool block_choice_passes_over(struct block_choice_skips *skips, unsigned place)
{
    return --skips->of[place] >= 0;
}

/* Whether blocks of this size are chosen now; else all are tracked. */
static inline bool block_choice_is_made(const struct block_choice *choice, size_t size)
{
    return size < BLOCK_CHOICE_SMALL || choice->dear;
}

static inline void block_choice_leave(struct block_choice_skips *skips, unsigned place)
{
    skips->of[place] = 0;
}

/* Takes the block that was chosen: tracked with probability 2^-result. Draws the place's next one.
 */
unsigned block_choice_take(struct block_choice *, struct block_choice_skips *, unsigned place);

/* So much was spent on a block that was chosen, up to now: of any clock in ns. Who never tells has
 * no block that is dear. */
void block_choice_spent(struct block_choice *, uint64_t now_ns, uint64_t spent_ns);

#endif
