/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a profile file into memory, up to its last whole record. Not signal-safe.
 * Every byte sequence is survivable: a foreign or damaged file gives an error or a shorter profile.
 *
 * What a loaded profile guarantees, whatever the file held: text is NUL-terminated; identifiers
 * are unique in every array that is sorted by one; following parent_id from any context ends;
 * probabilities of line watches and of shared lines lie in (0, 1]; the probes of a burst can be
 * decoded, and are as many (and as many of them open) as the burst says; histogram bins ascend, are
 * below HISTOGRAM_BIN_COUNT and lie inside their record; transfers are finite and not negative. Not
 * guaranteed: that an identifier that a record names is there (the lookups return NULL), and that
 * the values of enumerations and line sizes are known ones.
 *
 * Memory: while loading the file and its arrays (twice the file), after that once.
 */
#ifndef REUSE_PROFILE_READER_H
#define REUSE_PROFILE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"

/* Arrays with exactly count items; owned by the profile. */
#define PROFILE_ARRAY(type)                                                                        \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count;                                                                              \
    }

struct profile {
    char *path;
    size_t size;                 /* bytes of the file */
    uint64_t dropped_bytes;      /* after the last whole record */
    bool complete;               /* RECORD_END was seen */
    bool being_written;          /* profile_load(): by a process that has not ended */
    uint64_t lost_records;       /* gaps in the sequence numbers */
    uint64_t unknown_records;    /* of types that this reader does not know: skipped */
    uint64_t invalid_records;    /* whole, but their content contradicts itself: skipped */
    uint64_t surplus_watch_ends; /* ends of a watch that had ended already: skipped */
    uint64_t broken_contexts;    /* whose parents formed a cycle: made outermost */

    PROFILE_ARRAY(const char *) run; /* key, value, key, value ... */
    PROFILE_ARRAY(struct record_cache) caches;
    PROFILE_ARRAY(const struct record_module *) modules; /* sorted by module_id */
    PROFILE_ARRAY(struct record_module_end) module_ends;
    PROFILE_ARRAY(const struct record_mapping *) mappings;
    PROFILE_ARRAY(struct record_thread) threads;             /* sorted by thread_id */
    PROFILE_ARRAY(struct record_thread_end) thread_ends;     /* last one per thread, sorted */
    PROFILE_ARRAY(struct record_context) contexts;           /* sorted by context_id */
    PROFILE_ARRAY(const struct record_site *) sites;         /* sorted by site_id */
    PROFILE_ARRAY(struct record_site_totals) site_totals;    /* last one per site, sorted */
    PROFILE_ARRAY(const struct record_burst *) bursts;       /* sorted by burst_id */
    PROFILE_ARRAY(struct record_sample) samples;             /* in file order */
    PROFILE_ARRAY(struct record_watch_end) watch_ends;       /* first one per sample, sorted */
    PROFILE_ARRAY(struct record_invalidation) invalidations; /* first one per sample, sorted */
    PROFILE_ARRAY(struct record_line_watch) line_watches;    /* first one per sample, sorted */
    PROFILE_ARRAY(struct record_line_event) line_events;     /* in file order */
    PROFILE_ARRAY(struct record_line_end) line_ends;         /* first one per sample, sorted */
    PROFILE_ARRAY(const struct record_shared_mapping *) shared_mappings; /* sorted by mapping_id */
    PROFILE_ARRAY(struct record_shared_use) shared_uses;                 /* in file order */
    PROFILE_ARRAY(struct record_process_transfer) process_transfers;     /* last one per key */
    PROFILE_ARRAY(struct record_turn) turns;                             /* in file order */
    PROFILE_ARRAY(struct record_served) served;                          /* in file order */
    PROFILE_ARRAY(const struct record_progress *) progress;              /* in file order */
    PROFILE_ARRAY(const struct record_steps *) steps;             /* first one per burst, sorted */
    PROFILE_ARRAY(const struct record_timed_loads *) timed_loads; /* likewise */
    PROFILE_ARRAY(struct record_totals) totals;                   /* last one per thread, sorted */
    PROFILE_ARRAY(const struct record_note *) notes;
    PROFILE_ARRAY(const struct record_counter *) counters; /* last one per type, config, name */
    PROFILE_ARRAY(const struct record_histogram *)
    histograms; /* last one per (scope, measure, line size, keys) */
    PROFILE_ARRAY(struct record_transfer)
    transfers; /* last one per everything but transfers, variance */
    PROFILE_ARRAY(const struct record_region *) regions; /* sorted by region_id */
    PROFILE_ARRAY(const struct record_origin *) origins; /* sorted; empty unless merged */

    /* Of groups of bursts, beside those of the file (instruction_contexts.c). */
    PROFILE_ARRAY(struct record_context) instruction_contexts;
    struct record_end end; /* zero unless complete */

    struct profile_index *index; /* private */
};

/*
 * Loads a file. On failure returns NULL and writes one line for the user into message (what, where,
 * why, what to do), without a newline. A truncated file is not a failure. The caller owns the
 * result.
 */
struct profile *profile_load(const char *path, char *message, size_t message_size);

/* The same from memory (copied), for fuzzing and tests. */
struct profile *profile_parse(const void *data, size_t size, const char *name, char *message,
                              size_t message_size);

/* NULL is allowed. */
void profile_free(struct profile *);

/*
 * Value of a RECORD_RUN key or fallback. In a merged profile these are the keys on which all
 * origins agree; profile_origin_text() has the others. The last one wins if a key stands twice.
 * A value that is not a decimal number (digits only) counts as missing.
 */
const char *profile_run_text(const struct profile *, const char *key, const char *fallback);
uint64_t profile_run_number(const struct profile *, const char *key, uint64_t fallback);

/* Whether the application times of the profile count the threads' accesses instead of ns
 * (RECORD_RUN "clock" is "accesses"). */
bool profile_counts_accesses(const struct profile *);

/* Whether a process of the profile has several threads. */
static inline bool profile_runs_threads(const struct profile *profile)
{
    return profile->threads.count > (profile->origins.count > 0 ? profile->origins.count : 1);
}

/* Value of a key for one origin (record_thread.origin_id); for 0 the same as profile_run_text(). */
const char *profile_origin_text(const struct profile *, uint32_t origin_id, const char *key,
                                const char *fallback);
/* The same as a number that may have a fraction; 0: not there. */
double profile_origin_number(const struct profile *, uint32_t origin_id, const char *key);

/* NULL when not there. Constant time for identifiers without large gaps, else a binary search. */
const struct record_module *profile_module(const struct profile *, uint32_t module_id);
const struct record_thread *profile_thread(const struct profile *, uint32_t thread_id);
const struct record_thread_end *profile_thread_end(const struct profile *, uint32_t thread_id);
const struct record_context *profile_context(const struct profile *, uint32_t context_id);
/* The same of those in `contexts` alone. */
const struct record_context *profile_recorded_context(const struct profile *, uint32_t context_id);
/* Of a group of a burst: its path's child at the instruction. 0: there is none, as where no path is
 * known. */
uint32_t profile_instruction_context(const struct profile *, uint32_t path_id, uint64_t ip);
const struct record_site *profile_site(const struct profile *, uint32_t site_id);
const struct record_site_totals *profile_site_totals(const struct profile *, uint32_t site_id);
const struct record_totals *profile_thread_totals(const struct profile *, uint32_t thread_id);
const struct record_watch_end *profile_watch_end(const struct profile *, uint64_t sample_id);
const struct record_invalidation *profile_invalidation(const struct profile *, uint64_t sample_id);
const struct record_line_watch *profile_line_watch(const struct profile *, uint64_t sample_id);
const struct record_line_end *profile_line_end(const struct profile *, uint64_t sample_id);
const struct record_burst *profile_burst(const struct profile *, uint64_t burst_id);
const struct record_steps *profile_steps(const struct profile *, uint64_t burst_id);
const struct record_timed_loads *profile_timed_loads(const struct profile *, uint64_t burst_id);
/* In `bursts`; their number: it is not there. */
size_t profile_burst_index(const struct profile *, uint64_t burst_id);
const struct record_shared_mapping *profile_shared_mapping(const struct profile *,
                                                           uint32_t mapping_id);
const struct record_region *profile_region(const struct profile *, uint32_t region_id);
const struct record_origin *profile_origin(const struct profile *, uint32_t origin_id);

/*
 * The module whose extent holds the address. Of several (one was unloaded, another one took its
 * place), the one that was loaded at that time; if none was, the one loaded or unloaded nearest to
 * that time.
 */
const struct record_module *profile_module_at(const struct profile *, uint64_t address,
                                              uint64_t monotonic_ns);

/* Its position in the profile's modules; their number: none. */
size_t profile_module_position_at(const struct profile *, uint64_t address, uint64_t monotonic_ns);

/* The position of the last mapping in the profile's that holds the address; their number: none. */
size_t profile_mapping_position_at(const struct profile *, uint64_t address);

#endif
