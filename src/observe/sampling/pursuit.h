/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pursuit: some of a burst's open lines are looked for in the accesses that follow the burst, by
 * whoever can go on telling those. It sees the next use of the whole line, at all line sizes that a
 * wide burst tells, and counts the accesses up to it. So it needs no debug register, no trap and no
 * rate of accesses per nanosecond; but it ends where looking ahead must end, and what is used later
 * is only known to be used later (censored).
 *
 * How far a pursuit goes is drawn before anything is known of its lines, so that the end says
 * nothing of them.
 *
 * Pure; no allocation; signal-safe. Used by one thread at a time.
 */
#ifndef REUSE_SAMPLING_PURSUIT_H
#define REUSE_SAMPLING_PURSUIT_H

#include <stdbool.h>
#include <stdint.h>

#include "access.h"
#include "profile/format.h"
#include "profile/probes.h"
#include "sampling/burst.h"
#include "sampling/random.h"

enum {
    PURSUIT_LINES_MAX = 16,
    /* The shortest is as long as a burst; every further doubling is half as likely, so that each
     * octave of distances costs the same. */
    PURSUIT_DOUBLINGS = 7,
    PURSUIT_FILTER_BITS = 12,
};

struct pursued_line {
    uint64_t address;                /* of the probe's first byte in the line */
    uint64_t ip;                     /* of the next use at the run's line size; 0: none so far */
    uint32_t ahead;                  /* accesses from the probe to the burst's last one */
    uint32_t used[PROBE_LINE_SIZES]; /* as in struct record_watch_end */
    uint8_t kind;                    /* of the next use; 0: none so far */
};

struct pursuit {
    uint32_t line_sizes[PROBE_LINE_SIZES]; /* 0: there is none */
    unsigned widest_log2;                  /* of the largest */
    uint32_t wanted, seen;                 /* accesses after the burst */
    unsigned count, left;                  /* lines; of these, not used again at all line sizes */
    uint64_t filter[(1 << PURSUIT_FILTER_BITS) / 64]; /* lines of the largest size, hashed */
    struct pursued_line lines[PURSUIT_LINES_MAX];
};

/* Accesses that a pursuit may take. */
uint32_t pursuit_length(struct random *);

/* The n <= PURSUIT_LINES_MAX probes are open in their burst of that many accesses. length: accesses
 * after the burst to look at. */
void pursuit_begin(struct pursuit *, uint32_t line_size, const struct burst_probe *probes,
                   unsigned n, uint32_t burst_accesses, uint32_t length);

/* Accesses that it still wants; 0: it is over. */
uint32_t pursuit_wants(const struct pursuit *);

/* The next n accesses after the burst; those that it does not want are passed over. */
void pursuit_feed(struct pursuit *, const struct access *, uint32_t n);

/* What became of the line: fills reason, ip, kind, pursued and used of the record. */
void pursuit_describe(const struct pursuit *, unsigned line, struct record_watch_end *);

#endif
