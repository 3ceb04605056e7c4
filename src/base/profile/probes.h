/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tail of RECORD_BURST: its probes, grouped by what they have in common, as bytes.
 *
 * Probes of one group were made by one instruction on one calling path on one data object, and
 * were next used (in lines of the run's size) by one instruction. Of each group the tail has how
 * many probes had which stack distance and reuse time, in bins, and whether they are open. In wide
 * bursts it has the same for lines of half, twice and four times the run's size.
 *
 * Layout: docs/profile-format.md. Numbers are LEB128; differences to the group before are zigzag
 * coded. Encoding is signal-safe; decoding survives any bytes. Pure; no allocation.
 */
#ifndef REUSE_PROFILE_PROBES_H
#define REUSE_PROFILE_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format_bursts.h"

/* Line size of a wide burst by its index; 0 if it is not one of LINE_SIZE_MIN .. LINE_SIZE_MAX. */
uint32_t probe_line_size(uint32_t run_line_size, unsigned index);

/*
 * Bins of stack distances (lines) and of reuse times (accesses, from 1): 0..15 have a bin each,
 * every octave above has 8; times: 0..3 (0: open at the very end), then two an octave. Larger
 * values count as 65535.
 */
enum { PROBE_DISTANCE_BINS = 112, PROBE_TIME_BINS = 32 };
unsigned probe_distance_bin(uint32_t distance);
uint32_t probe_distance_low(unsigned bin); /* the lowest value; a bin ends where the next begins */
unsigned probe_time_bin(uint32_t time);
uint32_t probe_time_low(unsigned bin);

/* Probes that are alike. Of open ones distance and time are those up to the end of the burst. */
struct probe_count {
    uint16_t code; /* probe_code() */
    uint32_t count;
};

static inline uint16_t probe_code(bool open, unsigned distance_bin, unsigned time_bin)
{
    return (uint16_t)((open ? 4096u : 0) | distance_bin * PROBE_TIME_BINS | time_bin);
}
static inline bool probe_code_open(uint16_t code)
{
    return code & 4096;
}
static inline unsigned probe_code_distance(uint16_t code)
{
    return (code & 4095u) / PROBE_TIME_BINS;
}
static inline unsigned probe_code_time(uint16_t code)
{
    return code % PROBE_TIME_BINS;
}

struct probe_group {
    uint64_t ip;
    uint64_t reuse_ip; /* of the next use in lines of the run's size; 0: open */
    uint32_t path_id;  /* context of the call that its function was entered by; 0: none known */
    uint32_t object_reference;
    uint8_t object_kind;  /* enum object_kind */
    uint8_t kind;         /* enum access_kind: two bits */
    uint8_t width;        /* bytes, of one of the probes */
    uint8_t tracked_log2; /* heap blocks of this size are tracked with probability 2^-this; < 32 */
    /* Address of one of the probes, all equally likely: from the base of its block, stack or
     * mapping; of globals the address itself. */
    uint64_t place;
};

/* ---- writing ---- */

struct probe_encoder {
    unsigned char *out;
    size_t room, used;
    bool overflow; /* did not fit: what was written is to be thrown away */
    struct probe_group last;
};

void probe_encoder_begin(struct probe_encoder *, unsigned char *out, size_t room);
/* counts[s], by line size index (1 or PROBE_LINE_SIZES of them): sizes[s] entries, by ascending
 * code, none of count 0. Groups are smallest when they come by ascending ip. */
void probe_encode(struct probe_encoder *, const struct probe_group *, unsigned line_sizes,
                  const struct probe_count *const counts[], const size_t sizes[]);

/* ---- reading ---- */

struct probe_decoder {
    const unsigned char *at, *end;
    unsigned line_sizes; /* 1, or PROBE_LINE_SIZES */
    unsigned left;       /* groups to come */
    bool damaged;
    struct probe_group last;
};

struct record_burst;
void probe_decoder_begin(struct probe_decoder *, const struct record_burst *);

/* The same where the tail lies elsewhere: probe_size bytes of any alignment. */
void probe_decoder_begin_at(struct probe_decoder *, const struct record_burst *,
                            const unsigned char *tail);

/*
 * The next group; false when there is none, or what follows is damaged. counts has room for
 * `capacity` entries and gets those of all line sizes, one after the other; sizes[s]: how many.
 * More than `capacity` counts as damage.
 */
enum { PROBE_COUNTS_MAX = 4096 };
bool probe_decode(struct probe_decoder *, struct probe_group *, struct probe_count *counts,
                  size_t capacity, size_t sizes[PROBE_LINE_SIZES]);

#endif
