/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the analysis share. Everything is built once, in analysis_create(). */
#ifndef REUSE_ANALYSIS_INTERNAL_H
#define REUSE_ANALYSIS_INTERNAL_H

#include <float.h>

#include "analysis/analysis.h"
#include "analysis/loop_rates.h"
#include "reuse/miss_ratio.h"
#include "reuse/survival.h"

/* A sample, judged. */
struct analysed_sample {
    const struct record_sample *record;
    const struct record_watch_end *end;             /* NULL: none in the file */
    const struct record_invalidation *invalidation; /* by another thread; NULL: none was seen */
    const struct record_invalidation *left; /* the register left the running watch; or NULL */
    uint32_t profile;
    uint32_t loop;   /* index into rates.loops */
    uint32_t thread; /* index into threads */
    uint32_t cell;
    double weight;  /* accesses that it stands for */
    double watched; /* accesses from its use to the last time its watch was known to run;
                       0 when it had none */
    /* Accesses from its use to the first store of another thread, or to the last time that such
     * stores were watched for; 0 when they were not. */
    double covered;
};

struct analysed_thread {
    uint32_t profile;
    uint32_t thread_id;
    size_t samples;
    double accesses; /* made by the thread */
    double scale;    /* expiries of the thread per sample taken: >= 1 */
};

/* Samples that are assumed to behave alike over time: a phase of a thread, or many small threads.
 */
struct cell {
    size_t first, count; /* range of by_cell */
    double run;          /* accesses of a thread from its start to its end, on average */
};

struct eviction_cache; /* evictions.c */

struct analysis {
    struct analysis_options options;
    const struct profile **profiles;
    size_t profile_count;
    uint32_t line_size;
    uint32_t run_line_size; /* that watches and visits refer to */
    double pivot;           /* accesses: the longest window; beyond it the rate stretches times */

    struct loop_rates rates;
    struct analysed_sample *samples;
    size_t count;
    struct analysed_thread *threads; /* sorted by profile, thread_id */
    size_t thread_count;
    struct cell *cells;
    size_t cell_count;
    uint32_t *by_cell; /* sample indexes, cell after cell */

    bool accessed_visits_known; /* traps on the accessed word looked ahead as well */

    bool invalidations_seen; /* other threads' stores to watched lines */

    struct eviction_cache *evictions; /* filled as sizes are asked for */
    float *rate_factors;              /* replicates.c: [replicate][loop] */

    /* Exact profiles: labelled histograms, instead of samples. */
    struct exact_histogram {
        const struct record_histogram *record;
        uint32_t profile;
    } * histograms;
    size_t histogram_count;
    bool exact;
};

/* samples.c: fills samples, threads, weights and watched times. 0 or -1 (out of memory). */
int analysis_judge_samples(struct analysis *);

/* observations.c: the events of one sample at the analysed line size; returns how many (<= 8). */
enum { OBSERVATION_EVENTS_MAX = 8 };
size_t analysis_observe(const struct analysis *, uint32_t sample,
                        struct survival_event events[OBSERVATION_EVENTS_MAX]);
/* True when the sample was not reused in its window and a register watched it. */
bool analysis_was_watched(const struct analysis *, uint32_t sample);

/* cells.c: divides the samples into cells. 0 or -1. */
int analysis_divide(struct analysis *);

/*
 * replicates.c: the estimate (0) and its replicates 1 .. replicate_count()-1. The bootstrap ones
 * draw samples (Poisson weights) and rates. Where the analysed line is larger than the run's, two
 * more make extreme assumptions about words that no watch could be put on. Where lines were
 * invalidated, the last one assumes the most of it.
 */
int replicates_create(struct analysis *);
uint32_t replicate_count(const struct analysis *);
double replicate_weight(const struct analysis *, uint32_t replicate, uint32_t sample);
double replicate_rate_factor(const struct analysis *, uint32_t replicate, uint32_t loop);
void replicate_factors(const struct analysis *, uint32_t replicate, double *accessed,
                       double *other);
/* The replicate in which other threads come to a line once at most before its next use. */
bool replicate_one_visit(const struct analysis *, uint32_t replicate);

/* Interval of values[0] from its replicates; floor: least distance from value that is claimed. */
struct estimate replicate_interval(const struct analysis *, const double *values, double floor);
/* The same for values that are no shares: of any size, and with extremes on both sides. */
struct estimate replicate_spread(const struct analysis *, const double *values);

/*
 * views.c: samples that are estimated together: those of one cell, or a subset's few in several.
 */
struct view {
    size_t count;
    uint32_t *sample; /* indexes into analysis.samples */
    struct survival_event *events;
    size_t event_count;
    uint32_t *stratum_of;
    uint32_t strata;
    bool *shares_invalidation;
    double *weight; /* of the replicate that was estimated last */
};
int view_create(const struct analysis *, const uint32_t *samples, size_t n, struct view *out);
void view_free(struct view *);
int view_estimate(const struct analysis *, struct view *, uint32_t replicate,
                  struct survival_curve *out);

/* Weighted sums of what accesses do at one size. */
void miss_shares_add(struct miss_shares *sum, struct miss_shares, double weight);
/* Divides by the weight that was added; without any (a replicate that drew no sample of the set)
 * nothing is known. */
void miss_shares_divide(struct miss_shares *sum, double weight);

/* evictions.c: eviction times of every cell's caches in every replicate, kept once computed. A
 * size in which nothing fits: all accesses miss. */
#define EVICTIONS_NO_CACHE DBL_MIN

/* Makes sure that all sizes (bytes, ascending) are known; index[i] gets the place of bytes[i]. */
int evictions_prepare(const struct analysis *, const double *bytes, size_t n, size_t *index);
double eviction_time_of(const struct analysis *, size_t size, uint32_t replicate, uint32_t cell);
/* Of all samples together. */
const struct miss_shares *evictions_whole(const struct analysis *, size_t size, uint32_t replicate);
/* The same for a cache that holds everything: what was never used before. */
const struct miss_shares *evictions_whole_cold(const struct analysis *, uint32_t replicate);
struct eviction_cache *evictions_create(void);
void evictions_free(struct eviction_cache *);

/* exact.c: answers from histograms. */
int analysis_collect_histograms(struct analysis *);
void exact_miss_ratio_curve(const struct analysis *, struct subset, const double *bytes, size_t n,
                            struct curve_point *points);
struct miss_split exact_misses(const struct analysis *, struct subset, double bytes);
size_t exact_histogram_shares(const struct analysis *, struct subset, uint8_t measure,
                              struct histogram_share **out);
struct estimate exact_accesses(const struct analysis *, struct subset);
int exact_line_use(const struct analysis *, const double *bytes, size_t n, uint32_t granule,
                   double *used);
uint32_t exact_granule(const struct analysis *);
/* Uses at that distance or farther, cold ones apart; a bin that it cuts counts in proportion. */
double exact_count_above(const struct record_histogram *, double distance);

#endif
