/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of a microbenchmark's communication before anything is measured: coherence
 * transfers between infinite private caches, one per thread, write-invalidate, by the definitions
 * of docs/communication.md ("Communication"), for lines of 64, 128 and 256 bytes. The JSON that
 * communication_truth_finish() writes is described in docs/microbench.md.
 *
 * Programs whose interleaving is forced tell every access in its order, and a plain model of the
 * caches, which shares no code with the profiler, counts. Others state bounds.
 */
#ifndef MICROBENCH_COMMUNICATION_TRUTH_H
#define MICROBENCH_COMMUNICATION_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

enum { COMMUNICATION_LINE_SIZES = 3 };
extern const uint32_t communication_line_sizes[COMMUNICATION_LINE_SIZES];

enum communication_kind { RAW, WAR, WAW, COMMUNICATION_KINDS };

/* A load, or anything that writes; a read-modify-write instruction is a write. */
enum access_effect { READS, WRITES };

struct communication_truth;

/* NULL when no truth is wanted (options->truth is NULL): all functions below then do nothing. */
struct communication_truth *communication_truth_create(const struct command *);

/*
 * A data object of `bytes`, an array of elements of element_bytes; nothing else that matters may
 * lie on its lines. Returns its number, from 0. Names are kept, not copied.
 */
size_t communication_object(struct communication_truth *, const char *name, const void *address,
                            size_t bytes, size_t element_bytes);

/* Names the bytes offset .. offset+bytes-1 of every element of the object. */
void communication_member(struct communication_truth *, size_t object, const char *name,
                          size_t offset, size_t bytes);

void communication_parameter(struct communication_truth *, const char *name, uint64_t value);
void communication_parameter_text(struct communication_truth *, const char *name,
                                  const char *value);

/* The next access of all: `width` bytes at an offset within the object. */
void communication_access(struct communication_truth *, size_t thread, size_t object, size_t offset,
                          size_t width, enum access_effect);

/*
 * Replays rounds 1..rounds of a forced interleaving; replay() tells the accesses of one round.
 * period: round r does what round r + period does; then many rounds are counted by a few. 0: every
 * one is replayed.
 */
typedef void communication_replay(void *context, struct communication_truth *, uint64_t round);
void communication_rounds(struct communication_truth *, communication_replay *, void *context,
                          uint64_t rounds, uint64_t period);

/*
 * Where the interleaving is not forced: transfers on an object are lo at least, hi at most
 * (INFINITY: no bound), and `expected` if accesses of different threads interleave at random (NAN:
 * no such expectation). sharing: 1 true, 0 false, -1 either; kind -1: any.
 */
struct communication_bound {
    int kind, sharing;
    double lo, expected, hi;
};
void communication_bounds(struct communication_truth *, size_t line_size_index, size_t object,
                          const struct communication_bound *);

/* Each thread calls it once, so that the truth tells which is which. */
void communication_thread(size_t thread);

/*
 * Writes the JSON and frees the truth, and prints the program's result as truth_finish() does.
 * truth may be NULL. done[thread] comes from run_threads().
 */
void communication_truth_finish(struct communication_truth *, const struct run_options *,
                                const uint64_t *done, double checksum);

#endif
