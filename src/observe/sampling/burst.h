/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A burst: a run of consecutive accesses of one thread, of which the first half are probes
 * (docs/estimators.md, "Bursts"). Looking forward from each probe to the end of the burst, either
 * its line is used again, and reuse time and stack distance are exact, or it is open: some of the
 * open ones are drawn to be followed by debug registers.
 *
 * Fed with accesses in program order by whoever has them: the interpreter in the engines clock and
 * pmu, the simulated hardware in simulate, tests.
 *
 * Pure; no allocation; signal-safe. Needs sizeof(struct burst) bytes (some hundred KiB; touched as
 * used), zeroed before the first use; used by one thread at a time.
 */
#ifndef REUSE_SAMPLING_BURST_H
#define REUSE_SAMPLING_BURST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "profile/format.h"
#include "profile/probes.h"
#include "sampling/access_run.h"
#include "sampling/random.h"

/* What an access touches. Addresses low .. high-1 are known to be of the same object. */
struct burst_object {
    uint64_t low, high;
    uint64_t base, size; /* of the block, stack or mapping; 0 0: none (globals) */
    uint32_t reference;
    uint8_t kind; /* enum object_kind */
    uint8_t tracked_log2;
};

/* What the core asks of its surroundings while it groups the probes. All signal-safe. */
struct burst_host {
    void (*identify)(void *user, uint64_t address, struct burst_object *);
    /* The calling path at the access of that index: any number that is the same for the same path.
     * Asked with ascending indexes. NULL: paths are not told apart. */
    uint32_t (*path)(void *user, uint32_t index);
    /* Told once of each group's path and instruction. NULL: need not be. */
    void (*meet)(void *user, uint32_t path, uint64_t ip);
    void *user;
};

/*
 * One burst in so many, at random, is wide: three more line sizes take twice as long as all else
 * that is found out about the accesses (tests/support/burst_speed.c), which this halves on average.
 * Intervals of curves at these sizes are twice as wide as at the run's, as there are a quarter of
 * the bursts.
 */
enum { BURST_WIDE_ONE_IN = 4 };

struct burst; /* burst_internal.h; size by burst_memory_size() */

size_t burst_memory_size(void);

/* line_size: the run's. wide: distances at PROBE_LINE_SIZES line sizes are wanted. */
void burst_begin(struct burst *, uint32_t line_size, bool wide);

/* The first access is one that hardware recorded and the thread has executed already. */
void burst_begin_after(struct burst *, uint32_t line_size, bool wide,
                       const struct access *recorded);

/* Adds accesses, as many as it still needs; returns how many it took. */
uint32_t burst_feed(struct burst *, const struct access *, size_t n);

/* Accesses that it still needs; 0: complete. */
uint32_t burst_wants(const struct burst *);

/* Accesses in it, and one of them. */
uint32_t burst_count(const struct burst *);
const struct access *burst_access(const struct burst *, uint32_t index);

/*
 * No more accesses come: finds every probe's next use and distance, and groups the probes. Returns
 * the probes (touches of lines of the run's size by the first BURST_PROBES accesses).
 */
uint32_t burst_close(struct burst *, const struct burst_host *);

/* ---- after burst_close() ---- */

/* Open probes: lines of the run's size, each once. */
uint32_t burst_open(const struct burst *);

/*
 * Writes the tail of RECORD_BURST, and probes, touches, open, accesses, groups, probe_size,
 * BURST_WIDE and BURST_RECORDED of the record. False: it does not fit into `room` bytes
 * (PROFILE_RECORD_MAX always suffices).
 */
bool burst_encode(const struct burst *, struct record_burst *, unsigned char *out, size_t room);

/* One of the probes, or of the open ones: an access, and which of the lines that it touches. */
struct burst_probe {
    uint32_t index;   /* of its access */
    uint64_t address; /* of its first byte in the line */
    uint8_t width;    /* bytes in the line */
    bool straddles;   /* the access touches other lines as well */
};

/* Draws one of all probes uniformly. There is at least one. */
struct burst_probe burst_draw(const struct burst *, struct random *);

/* Draws one of those of the access of that index, which is a probe. */
struct burst_probe burst_draw_of(const struct burst *, struct random *, uint32_t index);

/* Draws min(n, burst_open()) of the open ones uniformly without replacement, in random order;
 * returns how many. n is at most BURST_DRAW_MAX. */
enum { BURST_DRAW_MAX = 64 };
unsigned burst_draw_open(const struct burst *, struct random *, unsigned n,
                         struct burst_probe *out);

/* By ascending index of their accesses. */
void burst_sort_probes(struct burst_probe *, unsigned n);

/* The burst's accesses with the probe as sample; valid until the burst is begun anew. */
struct access_run burst_run(const struct burst *, const struct burst_probe *);

/* Fills what the burst tells of a sample at the probe: ip, address, width, kind, SAMPLE_STRADDLES,
 * accesses_ahead, reuse_ip, reuse_time at all line sizes, lines_ahead. */
void burst_describe(const struct burst *, const struct burst_probe *, struct record_sample *);

/*
 * The word whose first touch in the burst comes soonest after the access `after` (and not before
 * the access `from`, where the part of the burst begins that the program has still to execute).
 * The trap of a register on it tells that the program has got there. Accesses of exclusive pairs
 * are passed over. False: there is none.
 */
struct burst_marker {
    uint32_t index;   /* of the access that is to trap first */
    uint64_t address; /* of the word, aligned */
    uint64_t ip;      /* of the instruction that is to trap */
};
bool burst_marker_find(const struct burst *, uint32_t after, uint32_t from, uint32_t word_bytes,
                       struct burst_marker *);

#endif
