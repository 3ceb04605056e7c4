/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bulletin board: which lines which threads were lately seen to touch. Sampled accesses, loads
 * and stores, and arrivals at watched lines are published here by all threads; a sampled store asks
 * whether its line is worth the shared registers, and which words of it others use.
 *
 * Bounded: a hash table of buckets with a few entries each; the oldest entry of a full bucket goes.
 * Each bucket has a sequence lock: a writer that finds it taken gives up (the board is a hint, and
 * nothing that is estimated depends on what is on it), readers never wait. Signal-safe; any thread.
 */
#ifndef REUSE_SAMPLING_BOARD_H
#define REUSE_SAMPLING_BOARD_H

#include <stdbool.h>
#include <stdint.h>

enum { BOARD_BUCKETS = 4096, BOARD_WAYS = 5 };

struct board_entry {
    uint64_t line;  /* address of its first byte */
    uint64_t bytes; /* touched, as line_mask.h; unites what the thread was seen to touch */
    uint64_t time_ns;
    uint32_t thread; /* 0: free */
    uint32_t kinds;  /* enum access_kind, united */
};

/* Empty when zeroed. */
struct board {
    struct board_bucket {
        _Atomic uint32_t sequence; /* odd: being written */
        struct board_entry entries[BOARD_WAYS];
    } buckets[BOARD_BUCKETS];
};

void board_publish(struct board *, const struct board_entry *);

/* A thread that was seen at a line within two seconds counts as one that uses it: since_ns. */
static inline uint64_t board_since(uint64_t now_ns)
{
    const uint64_t memory_ns = UINT64_C(2) * 1000 * 1000 * 1000;

    return now_ns > memory_ns ? now_ns - memory_ns : 0;
}

/*
 * Whether another thread than `thread` was seen at the line at or after since_ns; *bytes gets what
 * they touched.
 */
bool board_others(const struct board *, uint64_t line, uint32_t thread, uint64_t since_ns,
                  uint64_t *bytes);

#endif
