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
    uint32_t domain; /* index into domains */
    uint32_t cell;
    uint8_t class;     /* of its cell's, when not reused in its window; else WINDOW_RESOLVED */
    uint8_t lines;     /* that its access touches, 1 or 2; it is the access to one of them */
    double weight;     /* accesses to lines that it stands for */
    double elapsed_ns; /* from its use to the end of its watch; below 0 by errors of both */
    double watched;    /* accesses from its use to the last time its watch was known to run;
                          0 when it had none */
    /* Accesses from its use to the first store of another thread, or to the last time that such
     * stores were watched for; 0 when they were not. */
    double covered;
    /* Shared caches (group_clock.c, group_uses.c); without them 1 and 0. */
    double dilation;     /* accesses of the group per access of the thread, around the sample */
    double others_lines; /* that the group's other threads touched during the window */
    bool elsewhere;      /* the thread came back to the line on a CPU outside the group */
    /* From the sample to the first visit of another thread of the group, or to the last time that
     * such visits were watched for; 0 when they were not. */
    double crossing;
    float crossing_visits; /* that this one stands for; 0: not seen until then */
    float crossing_design; /* inverse of the share of its kind that they were watched for */
};

/* Whose accesses the clock of a cache counts: a thread's, or those of a group. */
struct clock_domain {
    size_t samples;
    double accesses;
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
enum { WINDOW_CLASSES = 4, WINDOW_RESOLVED = 255 };

struct cell {
    size_t first, count;     /* range of by_cell */
    double run;              /* accesses of a thread from its start to its end, on average */
    double lines_per_access; /* 1, and more where accesses straddle lines */
    /* Samples that were not reused in their windows, by how many other lines they saw there. */
    bool lines_counted; /* known of all samples, at the analysed line size */
    struct window_class {
        double lines, accesses; /* means over its samples: lines seen, windows' lengths */
    } classes[WINDOW_CLASSES];
};

struct eviction_cache; /* evictions.c */

struct analysis {
    struct analysis_options options;
    struct cache_groups groups; /* options.groups points here, or nowhere */
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
    struct clock_domain *domains; /* the threads, or groups of CPUs in processes */
    size_t domain_count;
    struct cell *cells;
    size_t cell_count;
    uint32_t *by_cell; /* sample indexes, cell after cell */

    bool lines_counted; /* in some cell; see struct cell */
    struct footprint footprint;

    bool accessed_visits_known; /* traps on the accessed word looked ahead as well */

    bool invalidations_seen; /* other threads' stores to watched lines */
    bool simulated_cores;    /* a core for each thread: CPU numbers are those of the simulation */

    struct eviction_cache *evictions; /* filled as sizes are asked for */
    float *rate_factors;              /* replicates.c: [replicate][loop] */
    uint8_t *times_drawn;             /* [replicate][sample], of those that draw */

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

/* short_watches.c: fills elapsed_ns of listed samples. 0 or -1. */
int analysis_time_watches(struct analysis *);

/* group_clock.c: puts the times of all samples on the merged clocks of the groups, which become the
 * domains. 0 or -1. */
int analysis_merge_clocks(struct analysis *);
uint32_t analysis_group_of(const struct analysis *, uint16_t cpu); /* of a CPU that was seen */
/*
 * group_uses.c. When other threads of the group came to watched lines; clocks: of accesses over
 * monotonic time, by domain. What they touched during the windows, which comes when there are
 * cells. 0 or -1.
 */
struct access_clock;
int analysis_find_crossings(struct analysis *, const struct access_clock *clocks);
int analysis_add_others_lines(struct analysis *);

/* observations.c: the events of one sample at the analysed line size; returns how many. */
enum { OBSERVATION_EVENTS_MAX = 10 };
size_t analysis_observe(const struct analysis *, uint32_t sample,
                        struct survival_event events[OBSERVATION_EVENTS_MAX]);
/* True when the sample was not reused in its window and a register watched it. */
bool analysis_was_watched(const struct analysis *, uint32_t sample);

/* footprint.c: fills footprint. */
void analysis_measure_footprint(struct analysis *);

/* cells.c: divides the samples into cells. 0 or -1. */
int analysis_divide(struct analysis *);

/*
 * window_distances.c: what windows tell of stack distances (docs/estimators.md, section 6). Divides
 * the samples of each cell that were not reused in their windows into classes. 0 or -1.
 */
int analysis_classify_windows(struct analysis *);

/* Cache sizes, ascending, and for some samples how many of them are too small for the distance that
 * was seen in their windows. */
struct window_tally {
    size_t sizes;
    double *part;                /* of each size: what it has beyond whole lines */
    uint16_t *misses, *may_miss; /* by sample of the view: of sizes, and of their whole lines */
    uint8_t *class;              /* by sample of the view: struct analysed_sample's */
    double *missed;              /* by size: see window_tally_add_up() */
    double *scratch;             /* by size */
    double class_weight[WINDOW_CLASSES];
};
/* lines: sizes in lines, >= 0. 0 or -1. */
int window_tally_create(const struct analysis *, const uint32_t *samples, size_t n,
                        const double *lines, size_t sizes, struct window_tally *out);
void window_tally_free(struct window_tally *);

/*
 * Adds up samples [from, to) of the view, all of one cell, with the given weights. Then
 * tally->missed[k] is the weight of those that were reused in their windows and miss at size k.
 */
void window_tally_add_up(const double *weights, size_t from, size_t to, struct window_tally *);

/* The parts of the cache that a sample of the class has to see filled with other lines, for a curve
 * of the whole cell: integral of S up to the eviction. 0: evicted in the window already. */
double window_class_area(const struct window_class *, const struct survival_curve *curve,
                         double lines, double lines_per_access, bool persistent);

/*
 * What accesses of a cell do at a size: by average eviction times alone, or, given a tally of the
 * accesses that weigh `weight` together, with what their windows saw. times: eviction_times_of().
 */
struct miss_shares window_misses(const struct cell *, const struct survival_curve *,
                                 const double *times, const struct window_tally *, size_t size,
                                 double weight);

/*
 * replicates.c: the estimate (0) and its replicates 1 .. replicate_count()-1. The bootstrap ones
 * draw samples (Poisson weights) and rates. Where the analysed line is larger than the run's, some
 * more make extreme assumptions about the rest of it, which no watch could be put on. Where lines
 * were invalidated, the last one assumes the most of it.
 */
enum rest_guess {
    REST_LIKE_OTHERS,   /* its words are like the other words of the run's line: no extreme */
    REST_TOGETHER,      /* it is used together with the run's line, or not at all */
    REST_BETWEEN,       /* its uses divide the time to the next use of the run's line evenly */
    REST_BEHIND_WINDOW, /* it is used right after the window, or not at all */
    REST_GUESSES = REST_BEHIND_WINDOW,
};

int replicates_create(struct analysis *);
uint32_t replicate_count(const struct analysis *);
double replicate_weight(const struct analysis *, uint32_t replicate, uint32_t sample);
/* That weight over the sample's own and its loop's rate factor. */
unsigned replicate_times_drawn(const struct analysis *, uint32_t replicate, uint32_t sample);
/* The same of all samples, by index. NULL: 1 for each. */
const uint8_t *replicate_draws(const struct analysis *, uint32_t replicate);
double replicate_rate_factor(const struct analysis *, uint32_t replicate, uint32_t loop);
/* The same of all loops, by index. NULL: 1 for each. */
const float *replicate_rate_factors(const struct analysis *, uint32_t replicate);
enum rest_guess replicate_rest(const struct analysis *, uint32_t replicate);
/* The replicate in which a window that saw more lines than others, or fewer, goes on so. */
bool replicate_persistent(const struct analysis *, uint32_t replicate);
/* The replicate in which lines differ in how often they are used (views.c). */
bool replicate_unequal_lines(const struct analysis *, uint32_t replicate);
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
    uint32_t *sample; /* indexes into analysis.samples, ordered by cell */
    bool one_cell;    /* all are of one */
    /* What every replicate asks of them, side by side. */
    struct view_sample {
        double weight;
        uint32_t loop;
        bool watched;
    } * own;
    struct survival_event *events; /* in order; their samples are cohorts */
    size_t event_count;
    /* The same if every watch sees its word alone, which comes as often as lines of that many words
     * do not: see replicate_unequal_lines(). NULL until that is estimated. */
    struct survival_event *word_events;
    /* How many times sooner than the run's line the larger analysed line can be used again, beyond
     * the window: see find_times_sooner(). */
    double sooner;
    uint32_t *stratum_of;
    uint32_t strata;
    bool *shares_invalidation, *shares_crossing;
    double *weight; /* of the replicate that was estimated last */
    /* view_cohorts.c: what the estimate takes as one sample, and the events tell of. */
    uint32_t *cohort_of; /* by sample of the view */
    size_t cohorts;
    uint32_t *first_of, *cohort_stratum; /* by cohort; its first sample */
    double *cohort_weight;               /* of the replicate that was estimated last */
};
/* For view_create(): once the events are in order and the strata known. 0 or -1. */
int view_form_cohorts(struct view *);
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
/* EVICTION_TIMES of them: of an average access, then of each of the cell's window classes, where 0
 * means in the window. */
enum { EVICTION_TIMES = 1 + WINDOW_CLASSES };
const double *eviction_times_of(const struct analysis *, size_t size, uint32_t replicate,
                                uint32_t cell);
double evictions_lines(const struct analysis *, size_t size); /* of the cache */
/* Of all samples together. */
const struct miss_shares *evictions_whole(const struct analysis *, size_t size, uint32_t replicate);
/* The same for a cache that holds everything: what was never used before. */
const struct miss_shares *evictions_whole_cold(const struct analysis *, uint32_t replicate);
struct eviction_cache *evictions_create(void);
void evictions_free(struct eviction_cache *);

/* exact.c: answers from histograms. */
int analysis_collect_histograms(struct analysis *);
bool exact_counts_shared(const struct analysis *); /* a cache of several threads was counted */
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
