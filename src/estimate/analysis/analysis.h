/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a profile to curves: what every report section and advice stands on.
 *
 * Builds the access clock of each thread (time -> accesses, from the measured rates), weighs each
 * burst by the accesses it stands for, estimates from watches when lines that stayed open in their
 * bursts are used again, and answers questions about any subset of probes ("this object", "this
 * line"). Intervals come from a bootstrap over whole bursts (docs/estimators.md, "Bursts"). The
 * same interface serves profiles of the exact engine, from their histograms.
 */
#ifndef REUSE_ANALYSIS_ANALYSIS_H
#define REUSE_ANALYSIS_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "estimate.h"
#include "machine/machine.h"
#include "profile/reader.h"

/* What to answer from, in profiles that hold both samples and counts of every access. */
enum analysis_source {
    SOURCE_AUTOMATIC, /* samples where there are any */
    SOURCE_SAMPLES,
    SOURCE_COUNTS,
};

/*
 * CPUs that share a cache: the same number for all CPUs of a cache. CPUs beyond `cpus` are all in
 * group 0, so a zeroed structure puts everything into one cache.
 */
struct cache_groups {
    const uint32_t *of_cpu;
    uint32_t cpus;
};

struct analysis_options {
    enum analysis_source source;
    uint32_t line_size; /* 0: the run's */
    uint32_t bootstrap; /* replicates for intervals; 0: the default (100; fewer, down to 35, for
                              profiles of many bursts) */
    uint64_t seed;      /* of the bootstrap; results are a function of profile, options, seed */
    uint32_t thread_id; /* 0: all threads */
    bool all_bursts;    /* also of very many, of which else a random part is evaluated */
    /* NULL: each thread has a cache of its own. Else the caches are those that the threads of a
     * process share which were seen on the CPUs of a group; times and distances are on the group's
     * merged access clock (docs/estimators.md, "Shared caches"). of_cpu is read by
     * analysis_create() alone. Where accesses are counted every thread has a core of its own, and
     * CPUs say nothing: one group. */
    const struct cache_groups *groups;
    /* An analysis of the same profiles, or NULL. Where line size, thread and all_bursts are the
     * same, too, what it has read from their records is used again. */
    const struct analysis *like;
};

struct analysis;

/* The profiles (one or several, merged) must outlive the analysis. NULL + one line on failure. */
struct analysis *analysis_create(const struct profile *const *profiles, size_t profile_count,
                                 const struct analysis_options *, char *message,
                                 size_t message_size);
void analysis_free(struct analysis *);

bool analysis_is_exact(const struct analysis *); /* every access was counted */

/* Whether an analysis of these profiles from the source is possible; not SOURCE_AUTOMATIC. */
bool analysis_has_source(const struct profile *const *profiles, size_t profile_count,
                         enum analysis_source);
uint32_t analysis_line_size(const struct analysis *);

/*
 * What bursts timed of loads of lines that were not used lately, nor one next to them
 * (docs/measuring-the-rate.md, "Timed lines"). All 0 where nothing was timed.
 */
struct timed_lines {
    double timed, memory; /* such loads; of these, from memory */
    double memory_ns;     /* that one from memory took longer than one in the first cache */
    /* Of such lines that the curve has hit in the third cache, the part that came from memory, 0 to
     * 1: others use that cache as well, or pages had to be looked up. */
    double third_from_memory;
};
struct timed_lines analysis_timed_lines(const struct analysis *);

/* Caches that threads were seen to share, in all processes; of private ones: threads. Exact
 * profiles count one for all threads. */
size_t analysis_group_count(const struct analysis *);

/*
 * A subset of the accesses to ask about. groups labels every group of probes
 * (analysis_probe_count() entries); the subset is those whose label is `group`. NULL groups:
 * everything. For exact profiles groups labels the histograms instead: analysis_histogram_count()
 * entries.
 */
struct subset {
    const uint32_t *groups;
    uint32_t group;
    /* The same as a list, ascending: spares looking at all others. NULL: groups tell. Exact
     * profiles go by groups alone. */
    const uint32_t *members;
    size_t member_count;
    /* It is a part by data objects: accesses to small heap blocks, of which some are tracked, weigh
     * what they stand for (docs/estimators.md, "Objects from a sample of the blocks"). */
    bool objects;
};

/*
 * Pairs of uses of a line in one burst that are alike: the later one, which finds the line in a
 * cache or misses, was made by one instruction in one calling context on one data object, the
 * earlier one likewise. Where the two are not in one burst, those that leave lines open and those
 * that come to others are brought together (curves/arrivals.h). What reports label and sum, by the
 * later use. Sampled profiles alone.
 */
struct analysed_probe {
    uint64_t ip;      /* of the later use */
    uint64_t last_ip; /* of the use before */
    uint64_t place;   /* of one of them: in its block, stack or mapping; of globals the address */
    uint32_t context_id;
    uint32_t last_context_id;
    uint32_t object_reference;
    uint32_t burst;
    uint32_t count;      /* probes, in lines of the analysed size; 0: the burst tells others */
    uint32_t open;       /* of these, not used again in the burst */
    bool late;           /* in lines of the run's size none of them is used again in the burst */
    uint8_t object_kind; /* enum object_kind */
    uint8_t kind;        /* enum access_kind, of the later use */
    uint8_t last_kind;   /* likewise, of the use before */
    uint8_t width;       /* bytes, of one of them */
    uint8_t tracked_log2;
    /* Of the analysis. */
    uint32_t first; /* of its entries in `counts` */
    uint32_t entries;
};

/* Groups of probes are numbered 0 .. count-1, burst by burst: alike in all analyses of the same
 * profiles and threads, whatever the line size. */
size_t analysis_probe_count(const struct analysis *);
const struct analysed_probe *analysis_probe(const struct analysis *, size_t index,
                                            size_t *profile_index);
const struct record_burst *analysis_probe_burst(const struct analysis *, size_t index);
/* CPU time that its burst stands for, the kernel's part included, ns; *own: share of it in the
 * program's own code. */
double analysis_probe_time(const struct analysis *, size_t index, double *own);
/* Accesses per ns of that in the program's own code, where the burst's loop was measured; else 0.
 */
double analysis_probe_rate(const struct analysis *, size_t index);
double analysis_probe_weight(const struct analysis *, size_t index); /* accesses it stands for */
/* The same where data objects are told apart: of tracked blocks of a sample for others like them,
 * too. */
double analysis_probe_object_weight(const struct analysis *, size_t index);

/* Bursts that others stand for, because there are very many. */
size_t analysis_bursts_left_out(const struct analysis *);

/* Bursts that have probes of the subset: at line sizes other than the run's, of those that tell
 * them. */
size_t analysis_burst_count(const struct analysis *, struct subset);

/* Watches of open lines by debug registers: how many began, and how they ended; and lines that were
 * pursued by looking ahead. */
struct watch_summary {
    size_t begun, used, invalidated, never, censored;
    size_t pursued, found; /* the latter: used again */
    double farthest;       /* accesses looked at for one of the pursued, at most */
    double heaviest;       /* largest weight of any of them over the sum of all weights */
};
struct watch_summary analysis_watches(const struct analysis *);

/* A watched line: an access drawn from the open ones of its burst, and how its watch ended. */
size_t analysis_watch_count(const struct analysis *);
const struct record_sample *analysis_watch(const struct analysis *, size_t index,
                                           size_t *profile_index);
const struct record_watch_end *analysis_watch_end(const struct analysis *, size_t index);
/* From the sampled access to the end. */
double analysis_watch_accesses(const struct analysis *, size_t index);
double analysis_watch_weight(const struct analysis *,
                             size_t index); /* open accesses it stands for */

/*
 * Variance of the subset's miss ratio at a size over what as many independent probes would have:
 * how much less than that the probes of a burst tell (Kish 1965). NAN without a miss or with fewer
 * than two bursts.
 */
double analysis_design_effect(const struct analysis *, double bytes);

/* Single accesses, one of each burst and those of turns: for communication, and wherever an address
 * matters. Numbered 0 .. count-1; exact profiles have none. */
size_t analysis_sample_count(const struct analysis *);
const struct record_sample *analysis_sample(const struct analysis *, size_t index,
                                            size_t *profile_index);
double analysis_sample_weight(const struct analysis *, size_t index); /* accesses it stands for */

/* Total accesses; how well the access clock is known. */
struct estimate analysis_accesses(const struct analysis *);
struct access_rate_summary {
    struct estimate per_ns; /* time-averaged accesses per ns of application CPU time */
    double covered;         /* share of application time in code whose own rate was measured */
    size_t bursts;          /* in which variables of the program told of it */
    double size_axis_low, size_axis_high; /* factors: the cache-size axis may be off by this much;
                                             1, 1 when exact or certain */
};
struct access_rate_summary analysis_access_rate(const struct analysis *);
struct estimate analysis_thread_accesses(const struct analysis *, size_t profile_index,
                                         uint32_t thread_id);

/* Exact profiles: histograms of a scope, to be labelled. */
size_t analysis_histogram_count(const struct analysis *);
const struct record_histogram *analysis_histogram(const struct analysis *, size_t index,
                                                  size_t *profile_index);

struct curve_point {
    double bytes;
    struct estimate miss_ratio; /* misses of the subset per access of the subset */
    bool beyond;                /* larger than the longest watch can resolve: not known */
};

/*
 * Miss-ratio curve of fully associative LRU caches, at the given sizes (bytes, ascending). A
 * subset's curve uses the eviction times of its whole threads, or groups of them, with whose other
 * accesses it shares the cache. Fills points[0..n-1].
 */
void analysis_miss_ratio_curve(const struct analysis *, struct subset, const double *bytes,
                               size_t n, struct curve_point *points);

/*
 * Of the misses of a whole in caches of n sizes (bytes, ascending), those of parts of it. The
 * interval is that of the share: bursts that happen to be in other code take from the part and add
 * to the rest. What nobody observed may all be hits, or all be misses. The caller frees the totals;
 * the subset and its labels have to live as long.
 */
struct miss_totals;
struct miss_totals *analysis_miss_totals(const struct analysis *, struct subset whole,
                                         const double *bytes, size_t n);
void miss_totals_free(struct miss_totals *);
/* Fills shares[0..n-1]; 0 where the whole has no misses. */
void analysis_shares_of_misses(const struct analysis *, const struct miss_totals *,
                               struct subset part, struct estimate *shares);

/* The same ratios of samples without their intervals, which take most of the time. */
void analysis_miss_ratios(const struct analysis *, struct subset, const double *bytes, size_t n,
                          double *ratios);

/* The same of many subsets that have no observation in common: ratios[subset * n + size]. Sampled
 * ones list their members. Of exact profiles the values of the curves. */
void analysis_miss_ratios_of(const struct analysis *, const struct subset *subsets, size_t count,
                             const double *bytes, size_t n, double *ratios);

/*
 * For conclusions that are more than a number: the runs that resampling whole bursts makes of this
 * one (the bootstrap behind the intervals), numbered 0 .. count-1. Exact profiles have none.
 * _ratios: the same ratios in each of them, ratios[run * n + k]. _draws: how often a burst is in
 * the run; ANALYSIS_AS_OBSERVED stands for the run that was observed, which has each once.
 */
#define ANALYSIS_AS_OBSERVED UINT32_MAX
uint32_t analysis_resampled_count(const struct analysis *);
void analysis_resampled_ratios(const struct analysis *, struct subset, const double *bytes,
                               size_t n, double *ratios);
double analysis_resampled_draws(const struct analysis *, uint32_t run, uint32_t burst);

/* The 48 log-spaced sizes from 1 KiB to 64 MiB on which curves are compared. */
enum { ANALYSIS_CURVE_SIZES = 48 };
void analysis_curve_sizes(double bytes[ANALYSIS_CURVE_SIZES]);

struct miss_split {
    struct estimate cold, capacity, coherence; /* shares of the subset's accesses */
    /* Shared caches: found there because another thread of the group used the line last. Not known
     * of exact profiles: lo 0, hi 1. */
    struct estimate crossing;
    bool beyond;
};
struct miss_split analysis_misses(const struct analysis *, struct subset, double bytes);
/* At n sizes, in ascending order, by one walk over the profile. */
void analysis_misses_at(const struct analysis *, struct subset, const double *bytes, size_t n,
                        struct miss_split *);

struct histogram_share {
    double lo, hi;         /* [lo, hi) in accesses or lines; hi = INFINITY: cold or beyond */
    struct estimate share; /* of the subset's accesses */
};

/*
 * Power-of-two bins, plus a last one for cold (never reused) and beyond. Reuses count where they
 * lie, whether or not another thread invalidated the line meanwhile. Caller frees *out.
 */
size_t analysis_reuse_time_histogram(const struct analysis *, struct subset,
                                     struct histogram_share **out);
size_t analysis_stack_distance_histogram(const struct analysis *, struct subset,
                                         struct histogram_share **out);

/*
 * Bytes used per byte fetched, by caches of the given sizes (ascending), seen in blocks of
 * `granule` bytes, a power of two below the line size: first uses of a block while its line is
 * cached, over fetches of lines. An upper bound, as a block counts as used when one byte of it is.
 * used[k] is NAN when nothing is fetched or, exact, when the run did not count blocks of that size.
 */
void analysis_line_use(const struct analysis *, struct subset, const double *bytes, size_t n,
                       uint32_t granule, double *used);
/* The smallest granule that the profile knows; the line size itself: none. */
uint32_t analysis_granule(const struct analysis *);

/* Bytes that the run touched, as far as samples show what it touched: of allocations the most that
 * lived at once, of stacks and modules from the first to the last page seen. INFINITY: not known.
 * A cache of that size fetches no line twice. */
double analysis_footprint(const struct analysis *);

/* Bytes that no reuse of a line is farther than, by what the kernel says of the memory of the
 * processes: memory_bound.h. INFINITY: not known, or not needed, for profiles of counts. */
double analysis_farthest_reuse(const struct analysis *);

/*
 * The same in lines of the analysis, as bytes: those that samples lie in, for certain; about how
 * many it probably was, which is too few where an object's lines are used unequally often; and
 * analysis_footprint() or, where samples show more, that.
 */
struct footprint {
    double seen, likely, most;
};
struct footprint analysis_lines_touched(const struct analysis *);

/*
 * Lines that caches of these sizes (ascending) write back per access of the subset: lines stored to
 * while they were cached, each time that they leave, or at the end of the run. Samples tell bounds
 * alone, lo and hi, estimates both; value is NAN. Exact profiles count the whole alone, whatever
 * the subset: all three are the count, or NAN where there is none. What another thread's access
 * pulls out of a private cache is not among them.
 */
void analysis_write_backs(const struct analysis *, struct subset, const double *bytes, size_t n,
                          struct estimate *per_access);

/* Bytes per access of everything, as an exact profile counted them; NAN: not counted. */
double analysis_counted_width(const struct analysis *);

/* Accesses of a subset. */
struct estimate analysis_subset_accesses(const struct analysis *, struct subset);

/* The part's share of the whole's accesses, in which it is contained: how well the access rate is
 * known in all hardly matters to it. */
struct estimate analysis_share_of_accesses(const struct analysis *, struct subset part,
                                           struct subset whole);

#endif
