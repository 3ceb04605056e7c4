/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The look-ahead window: which access of the target's near future is the sample, and when is its
 * line used next?
 *
 * A clock interrupts the target mostly at slow instructions. Skipping a random number of accesses
 * first makes every access of the running loop equally likely. An access that touches two lines (of
 * the run's size) is an access to each: the sample is that to one of them, by a fair coin. Then the
 * window is searched for the next use of the sampled line, at every line size at once. Fed with
 * accesses in program order by whoever has them: the interpreter in the clock engine, the simulated
 * hardware in tests.
 *
 * Pure; no allocation; signal-safe. One struct per thread, zero before its first use.
 */
#ifndef REUSE_SAMPLING_WINDOW_H
#define REUSE_SAMPLING_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "sampling/random.h"

/* The skip is uniform over 0 .. WINDOW_SKIP_MAX-1: a few bodies of any but the largest loops. */
enum { WINDOW_SKIP_MAX = 1024 };

/* Places for lines, a power of two, and how many of them may be taken. */
enum { WINDOW_LINES = 4096, WINDOW_DISTANCE_MAX = WINDOW_LINES * 3 / 4 };

struct window {
    uint32_t skip;    /* accesses to pass over before the sampled one */
    uint32_t length;  /* accesses to examine after it */
    uint32_t seen;    /* accesses fed so far */
    uint32_t sampled; /* index of the sampled access, valid when chosen */
    bool chosen;
    bool executed; /* the sampled access is done already: the window began after it */
    bool
        short_skip; /* the stream ended inside the skip: the sample was drawn from what there was */
    bool done;      /* reused at the smallest line size, or length examined */
    bool coin;      /* which line is meant, should the sampled access touch two */
    bool straddles; /* it does: the sample is the part in one of them */
    uint32_t examined; /* accesses after the sampled one that were looked at */
    /* Other lines of the run's size that were touched after the sample, until the next use of its
     * own or as far as was looked: a stack distance, or what it is at least. Counted up to
     * WINDOW_DISTANCE_MAX. */
    uint32_t distance;
    uint64_t unresolved; /* blocks of up to this many bytes have not been used again (internal) */
    uint32_t line_size;  /* the run's */
    uint64_t reuse_ip;   /* instruction of the next use at the run's line size; 0 none */
    uint32_t reuse[LINE_SIZE_COUNT];        /* as record_sample.window_reuse */
    struct access history[WINDOW_SKIP_MAX]; /* the skipped accesses and the sampled one */
    uint32_t generation;                    /* internal: marks the entries of this window in */
    uint64_t lines[WINDOW_LINES];           /* internal: a hash table of the lines touched */
};

/* length >= 1; line_size: the run's. */
void window_begin(struct window *, struct random *, uint32_t length, uint32_t line_size);

/*
 * The sample is given: an access that hardware has recorded and the thread has executed. What is
 * fed are the accesses after it.
 */
void window_begin_after(struct window *, struct random *, const struct access *sample,
                        uint32_t length, uint32_t line_size);

/*
 * A record of hardware is delivered, `gap` accesses after the one that it describes. Without a gap
 * the recorded access is the sample. Else nobody knows whether its line was used again in the gap,
 * so the record only tells that it is time: the sample is taken from the accesses ahead.
 */
void window_begin_for_record(struct window *, struct random *, const struct access *recorded,
                             uint64_t gap, uint32_t length, uint32_t line_size);

/*
 * All accesses are kept (up to WINDOW_SKIP_MAX - 1) until window_end_at() chooses among them.
 */
void window_begin_keeping(struct window *, struct random *, uint32_t length, uint32_t line_size);
/* The access at that index, less than window->seen, is the sample. */
void window_end_at(struct window *, uint32_t index);

/* Returns true when the window needs no more accesses. */
bool window_feed(struct window *, const struct access *, size_t n);

/* Accesses examined before window_may_end() is worth asking. */
enum { WINDOW_EXAMINED_MIN = 200 };

/*
 * Whether a register may take over from a window that has taken so long: where the code itself is
 * slow, because it misses its caches at every step, a trap tells when the next use was. Where only
 * looking ahead is slow, the next use would be long past when a register could see it.
 * ns: since the window was begun. per_ns: accesses per nanosecond of the code; infinite if not
 * known.
 */
bool window_may_end(const struct window *, uint64_t ns, double per_ns);

/*
 * The stream has ended early. False when not a single access was seen. Otherwise the window holds a
 * sample, and examined tells how far it could be followed.
 */
bool window_end(struct window *, struct random *);

static inline const struct access *window_sample(const struct window *window)
{
    return &window->history[window->sampled];
}

#endif
