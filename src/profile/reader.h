/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a profile file into memory, up to its last whole record. Not signal-safe.
 * Every byte sequence is survivable: a foreign or damaged file gives an error or a shorter profile.
 */
#ifndef REUSE_PROFILE_READER_H
#define REUSE_PROFILE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"

/* Growable arrays; owned by the profile. Pointers into variable-length records point into data. */
#define PROFILE_ARRAY(type) struct { type *items; size_t count, capacity; }

struct profile {
    char *path;
    unsigned char *data; /* the whole file, private mapping or heap; variable parts point into it */
    size_t size;
    uint64_t dropped_bytes; /* after the last whole record */
    bool complete;          /* RECORD_END was seen */
    uint64_t lost_records;  /* gaps in the sequence numbers */
    uint64_t unknown_records;

    PROFILE_ARRAY(const char *) run; /* key, value, key, value ... */
    PROFILE_ARRAY(struct record_cache) caches;
    PROFILE_ARRAY(const struct record_module *) modules;
    PROFILE_ARRAY(struct record_module_end) module_ends;
    PROFILE_ARRAY(const struct record_mapping *) mappings;
    PROFILE_ARRAY(struct record_thread) threads;
    PROFILE_ARRAY(struct record_thread_end) thread_ends;
    PROFILE_ARRAY(struct record_context) contexts; /* sorted by context_id */
    PROFILE_ARRAY(const struct record_site *) sites;
    PROFILE_ARRAY(struct record_site_totals) site_totals; /* last one per site */
    PROFILE_ARRAY(struct record_sample) samples; /* in file order */
    PROFILE_ARRAY(struct record_watch_end) watch_ends; /* sorted by sample_id */
    PROFILE_ARRAY(struct record_rate) rates;
    PROFILE_ARRAY(struct record_totals) totals; /* last one per thread */
    PROFILE_ARRAY(const struct record_note *) notes;
    PROFILE_ARRAY(const struct record_histogram *) histograms; /* last one per (scope, measure, line size, keys) */
    PROFILE_ARRAY(struct record_transfer) transfers;
    PROFILE_ARRAY(const struct record_region *) regions;
    struct record_end end; /* zero unless complete */
};

/*
 * Loads a file. On failure returns NULL and writes one line for the user into message (what, where,
 * why, what to do), without a newline. A truncated file is not a failure. The caller owns the result.
 */
struct profile *profile_load(const char *path, char *message, size_t message_size);

/* The same from memory (copied), for fuzzing and tests. */
struct profile *profile_parse(const void *data, size_t size, const char *name, char *message,
                              size_t message_size);

void profile_free(struct profile *);

/* Value of a RECORD_RUN key or fallback. */
const char *profile_run_text(const struct profile *, const char *key, const char *fallback);
uint64_t profile_run_number(const struct profile *, const char *key, uint64_t fallback);

/* NULL when not there. Binary search or hash; cheap enough to call per sample. */
const struct record_module *profile_module(const struct profile *, uint32_t module_id);
const struct record_module *profile_module_at(const struct profile *, uint64_t address, uint64_t monotonic_ns);
const struct record_thread *profile_thread(const struct profile *, uint32_t thread_id);
const struct record_context *profile_context(const struct profile *, uint32_t context_id);
const struct record_site *profile_site(const struct profile *, uint32_t site_id);
const struct record_site_totals *profile_site_totals(const struct profile *, uint32_t site_id);
const struct record_watch_end *profile_watch_end(const struct profile *, uint64_t sample_id);

/* Histogram bins <-> values (see struct histogram_bin): [low, high) of a bin; bin of a value. */
uint32_t histogram_bin_of(uint64_t value);
uint64_t histogram_bin_low(uint32_t bin);

#endif
