/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the merge share. Nobody else includes it. */
#ifndef REUSE_PROFILE_MERGE_INTERNAL_H
#define REUSE_PROFILE_MERGE_INTERNAL_H

#include "profile/key_map.h"
#include "profile/merge.h"
#include "profile/writer.h"

/* Histograms by their keys in the output. Empty when zeroed. */
struct histogram_sums {
    struct key_map keys;
    struct record_histogram **items; /* by number of the key - 1 */
    size_t capacity;
};

struct profile_merge {
    struct profile_writer writer;
    unsigned char *buffer;
    char *out_path;
    char *part_path;            /* where it is written; NULL when out_path is no regular file */
    struct profile_merge *next; /* of those that are not finished */

    uint32_t origins, threads, shared_mappings; /* identifiers given so far */
    uint64_t samples, bursts;
    unsigned char *probes; /* room for one burst's */
    size_t probe_capacity;
    struct key_map modules, contexts, sites, regions;
    uint64_t *module_starts; /* by module number - 1: its place in the output */
    size_t module_capacity;
    uint64_t next_start;                    /* first free address for modules */
    struct record_site_totals *site_totals; /* by site number - 1 */
    size_t site_capacity;
    struct histogram_sums sums;     /* of all inputs */
    struct histogram_sums own_sums; /* of the one that is being added: no other has these keys */
    struct key_map counters;
    struct record_counter *counter_sums; /* by counter number - 1; their names are in the keys */
    size_t counter_capacity;
    struct record_cache *caches; /* of every origin; origin_id is the output's */
    size_t cache_count, cache_capacity;

    char *agreed; /* keys and values that all origins so far share: key NUL value NUL ... */
    size_t agreed_size;
    char *first_path, *first_engine, *first_line_size; /* what later inputs must agree with */
    uint64_t wall_ns;                                  /* longest run */
    uint32_t exit_status;                              /* highest: the same in any order */
};

/* One input on its way to the output. Arrays are by position in the input's arrays. */
struct merge_input {
    struct profile_merge *merge;
    const struct profile *profile;
    uint32_t *threads, *sites, *modules, *regions, *origins;
    uint32_t *contexts;      /* 0: not yet resolved */
    uint64_t *module_moves;  /* add to an address in the module */
    uint32_t *path;          /* room for one calling context */
    uint64_t samples_before; /* in the output: the input's first sample gets the next number */
    uint64_t bursts_before;  /* likewise */
    uint32_t own_origin;     /* of threads that name none */
    bool addresses_reused;   /* modules overlap: contexts depend on the time */
};

/* Makes room for `needed` items, zeroing new ones. */
void merge_reserve(void **items, size_t *capacity, size_t needed, size_t item_size);

void merge_append(struct profile_merge *, enum record_type, const void *fixed, size_t fixed_size,
                  const void *tail, size_t tail_size);

/* Reads an input in: origins first, then everything that refers to them. */
void merge_input_open(struct merge_input *, struct profile_merge *, const struct profile *);
void merge_input_close(struct merge_input *);
void merge_input_records(struct merge_input *);

/* Origins, the run keys on which they agree, and their caches. */
void merge_origins(struct merge_input *);
void merge_write_run(struct profile_merge *);

/* Bursts, before the samples that name them. */
void merge_bursts(struct merge_input *);

/* Memory shared between processes, after the bursts that use it. */
void merge_shared_memory(struct merge_input *);

/* Watches of samples' lines in all threads, after the samples themselves. */
void merge_line_watches(struct merge_input *);

/* Histograms of an input: keys translated, those of threads and stacks written, others added up. */
void merge_histograms(struct merge_input *);
void histogram_sums_clear(struct histogram_sums *);
void merge_write_sums(struct profile_merge *);

/* Hardware counts of an input are added up. */
void merge_counters(struct merge_input *);
void merge_write_counters(struct profile_merge *);

/* Translations into the output. */
uint32_t merge_origin(const struct merge_input *, uint32_t origin_id);
uint64_t merge_burst(const struct merge_input *, uint64_t burst_id);
uint32_t merge_thread(const struct merge_input *, uint32_t thread_id);
uint32_t merge_context(struct merge_input *, uint32_t context_id, uint64_t time_ns);
uint32_t merge_reference(const struct merge_input *, uint8_t object_kind, uint32_t reference);
uint64_t merge_code_address(const struct merge_input *, uint64_t address, uint64_t time_ns);
/* The same where an address may be missing: 0 stays 0. */
uint64_t merge_code_if_set(const struct merge_input *, uint64_t address, uint64_t time_ns);
uint64_t merge_data_move(const struct merge_input *, uint8_t object_kind, uint32_t reference);
uint32_t merge_region(const struct merge_input *, uint32_t region_id);

/* Gives this input's modules, contexts, sites and regions their numbers and writes new ones. */
void merge_modules(struct merge_input *);
void merge_sites(struct merge_input *);
void merge_regions(struct merge_input *);

#endif
