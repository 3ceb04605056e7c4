/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the analysis share. Everything is built once, in analysis_create(). */
#ifndef REUSE_ANALYSIS_INTERNAL_H
#define REUSE_ANALYSIS_INTERNAL_H

#include "analysis/analysis.h"
#include "analysis/rates/loop_rates.h"
#include "profile/probes.h"
#include "reuse/open_survival.h"

/* A burst, judged. */
struct analysed_burst {
    const struct record_burst *record;
    uint32_t profile;
    uint32_t loop;        /* index into rates.loops */
    uint32_t thread;      /* index into threads */
    uint32_t domain;      /* index into domains */
    uint32_t cell;        /* index into cells */
    uint32_t first_probe; /* of its groups in `probes` */
    uint32_t probe_count;
    uint32_t touches; /* probes, in lines of the analysed size */
    uint32_t open;    /* of these, not used again */
    uint32_t drawn;   /* watches that began on lines of it that are open at the run's size */
    double time_ns;   /* that it stands for (burst_times.h) */
    double accesses;  /* of its thread that it stands for */
    double weight;    /* accesses to lines that each of its probes stands for */
    double lost_ns;   /* after it, until caches and predictors are filled again */
    double dilation;  /* shared caches: accesses of the group per access of the thread; else 1 */
    bool left_out;    /* others stand for it: burst_choice.c */
};

/* A watch on an open line, judged. Times are on the clock of its cache (struct clock_domain). */
struct analysed_watch {
    const struct record_sample *record;
    const struct record_watch_end *end;             /* NULL: none in the file */
    const struct record_invalidation *invalidation; /* by another thread; NULL: none was seen */
    const struct record_invalidation *left; /* the register left the running watch; or NULL */
    uint32_t burst;
    uint32_t stratum;
    double elapsed_ns;      /* from its beginning to its end; below 0 by errors of both */
    double ran;             /* accesses of the thread in that time */
    double ahead;           /* accesses from its use to the end of its burst */
    double distance;        /* other lines of the analysed size in between up to the burst's end */
    double covered;         /* from its beginning to the first store of another thread, or as long
                               as such stores were watched for; 0: they were not */
    double weight;          /* open probes that it stands for, times what each stands for */
    struct open_watch open; /* as the survival of open lines sees it: from the burst's end on */
    bool elsewhere;         /* the thread came back to the line on a CPU outside the group */
};

/* A single access of a burst, or of a turn, judged. */
struct analysed_sample {
    const struct record_sample *record;
    uint32_t profile;
    uint32_t loop;
    uint32_t thread;
    uint32_t domain;
    uint32_t burst;  /* NO_BURST: of a turn */
    double weight;   /* accesses that it stands for */
    double dilation; /* as its burst's */
};

#define NO_BURST UINT32_MAX

/* Whose accesses the clock of a cache counts: a thread's, or those of a group. */
struct clock_domain {
    size_t bursts;
    double accesses;
};

struct analysed_thread {
    uint32_t profile;
    uint32_t thread_id;
    size_t bursts;
    double accesses; /* made by the thread */
    double scale;    /* expiries of the thread per burst: >= 1 */
};

/* Bursts that run the same code: they share what times mean in lines. */
struct cell {
    size_t bursts;
};

/* Open probes that are assumed to wait alike: an instruction's, a piece of code's, or all others'.
 */
struct stratum {
    size_t first, count; /* range of by_stratum */
    double distance;     /* mean of its open probes, at the ends of their bursts */
    size_t ended;        /* watches that saw an end */
};

struct open_lines; /* open_lines.c */

/* What accesses do in a cache, as shares of them. */
struct miss_shares {
    double missed;      /* not reused in time: capacity and cold */
    double invalidated; /* reused in time, but invalidated meanwhile: coherence */
    double unknown;     /* part of missed that nobody observed */
    double spared;      /* what nobody observed and is taken for reused in time */
    double crossing;    /* reused in time, by another thread that shares the cache */
};

/* What memory there is, in lines: no reuse is farther than reach, and no more uses than first_uses
 * are the first ones of a thread. INFINITY: not known. */
struct memory_bound {
    double reach, first_uses;
};

/* What analyses that listed the same share. */
struct listing {
    size_t users;
    struct footprint footprint; /* footprint.c; once it was asked for */
    bool has_footprint;
};

/* Answers that are kept; by subset.objects. */
struct known_answers {
    double *accesses[2]; /* of everything, by replicate; NULL: not asked for yet */
};

struct analysis {
    struct analysis_options options;
    struct cache_groups groups; /* options.groups points here, or nowhere */
    const struct profile **profiles;
    size_t profile_count;
    uint32_t line_size;
    uint32_t run_line_size; /* that watches and visits refer to */
    unsigned size_index;    /* of line_size among those that wide bursts tell */

    struct program_line_sources line_sources; /* owned */
    struct loop_rates rates;
    struct analysed_burst *bursts;
    size_t burst_count;
    struct analysed_probe *probes; /* burst by burst */
    size_t probe_count;
    struct probe_count *counts; /* of all of them, one after the other */
    uint32_t *stratum_of;       /* by group of probes */
    struct listing *listing;    /* these, and rates, may be other analyses' as well */
    struct analysed_watch *watches;
    size_t watch_count;
    struct analysed_sample *samples;
    size_t count;
    struct analysed_thread *threads; /* sorted by profile, thread_id */
    size_t thread_count;
    struct clock_domain *domains; /* the threads, or groups of CPUs in processes */
    size_t domain_count;
    struct cell *cells;
    size_t cell_count;
    struct stratum *strata;
    size_t stratum_count;
    uint32_t *by_stratum;                  /* watches, stratum after stratum */
    double tracked_scale, untracked_scale; /* small_blocks.c */
    struct memory_bound memory;
    double burst_worth; /* independent observations that a burst's probes are worth */

    bool accessed_visits_known; /* traps on the accessed word looked ahead as well */
    bool invalidations_seen;    /* other threads' stores to watched lines */
    bool guarded;               /* such stores were watched for, */
    double guarded_ends;        /* in so many watches up to their end */
    bool simulated_cores; /* a core for each thread: CPU numbers are those of the simulation */

    struct crossing *crossings; /* of open lines by other threads of a group, by time */
    size_t crossing_count;

    struct open_lines *open;
    struct known_answers *known;
    float *rate_factors;  /* replicates.c: [loop][replicate] */
    uint8_t *times_drawn; /* [burst][replicate], of those that draw */
    double *time_factors; /* [replicate], likewise */

    /* Exact profiles: labelled histograms, instead of samples. */
    struct exact_histogram {
        const struct record_histogram *record;
        uint32_t profile;
    } * histograms;
    size_t histogram_count;
    bool exact;
};

/* analysis.c: whether it is an analysis of these profiles, in this order. */
bool analysis_is_of(const struct analysis *, const struct profile *const *profiles,
                    size_t profile_count);

/* basis.c: sets exact, simulated_cores, run_line_size, line_size and size_index by options and
 * profiles, which are there. False, with one line in message, when the profiles do not go together
 * or do not hold what was asked for. */
bool analysis_choose_basis(struct analysis *, char *message, size_t size);

/* bursts.c: fills rates, bursts, probes, counts, threads. */
void analysis_list_bursts(struct analysis *);
void analysis_free_listing(struct analysis *);
uint32_t analysis_find_burst(const struct analysis *, uint32_t profile, uint64_t burst_id);

/*
 * burst_choice.c: of very many bursts, which are evaluated: BURSTS_EVALUATED in the mean, and of
 * each thread FEW_BURSTS at least, as far as that is possible. The others are left_out. Threads are
 * listed.
 */
enum { BURSTS_EVALUATED = 4096, FEW_BURSTS = 64 };
void analysis_choose_bursts(struct analysis *);

/* samples.c: fills samples, watches and times; weighs the bursts. */
void analysis_judge_samples(struct analysis *);

/* loop_sources.c: where the lines of the whole and of each loop come from, as far as the analysis
 * tells. The caller frees the loops. False: nothing is known, and nothing is set. */
bool analysis_find_sources(const struct analysis *, struct program_line_sources *);

/* short_watches.c: fills elapsed_ns of the watches. */
void analysis_time_watches(struct analysis *);

/* burst_losses.c: sets lost_ns of the bursts, whose loops have their rates; and the time that a
 * watch of such a burst would have run without. */
void analysis_find_losses(struct analysis *);
double analysis_without_loss(double lost_ns, double elapsed_ns);

/* group_clock.c: puts the times of all bursts on the merged clocks of the groups, which become the
 * domains. */
void analysis_merge_clocks(struct analysis *);

/* cache_domains.c: gives each burst and sample the domain of its process's group of threads. */
void analysis_divide_into_groups(struct analysis *);
uint32_t analysis_group_of(const struct analysis *, uint16_t cpu); /* of a CPU that was seen */

/* group_uses.c. When other threads of the group came to lines that were open; clocks: of accesses
 * over monotonic time, by domain. */
struct crossing {
    uint32_t burst;
    uint32_t stratum; /* of the instruction; filled by analysis_stratify() */
    uint64_t ip;
    double distance; /* as of a watch: other lines up to the burst's end */
    double ahead;    /* accesses up to there */
    double time;     /* of the first visit, or the last time that such visits were watched for */
    double visits;   /* that this one stands for; 0: not seen until then */
    double weight;   /* with the inverse of the share of its kind that were watched for */
};
struct access_clock;
void analysis_find_crossings(struct analysis *, const struct access_clock *clocks);

/* watched_words.c: how the survival of open lines sees a watch: fills watch->open. False: at this
 * line size it tells nothing. */
bool analysis_observe(const struct analysis *, struct analysed_watch *);
/* Of a pursuit (WATCH_PURSUED), accesses from the sampled one to where it ended; below 0: unknown.
 */
double analysis_pursued_accesses(const struct analysis *, const struct analysed_watch *);
/* Visits to its line that one store of another thread stands for, by what was seen. */
double analysis_invalidation_visits(const struct analysis *, const struct analysed_watch *);

/*
 * small_blocks.c: what a probe stands for where data objects are told apart, by its weight. Sets
 * tracked_scale and untracked_scale: of the accesses to heap blocks that were chosen from in all,
 * what those to tracked ones stand for belongs to their objects, and the rest to blocks that are
 * not tracked.
 */
void analysis_weigh_small_blocks(struct analysis *);
double analysis_object_factor(const struct analysis *, const struct analysed_probe *);

/*
 * cluster.c: what a burst is worth. Of its probes those are counted that are not used again within
 * WORTH_LINES other lines: their share in all, their scatter from burst to burst, and how little
 * they would scatter if they were independent (Kish 1965). 1 .. the probes of a burst.
 */
enum { WORTH_LINES = 64 };
double analysis_burst_worth(const struct analysis *);

/* cells.c: divides the bursts into cells. */
void analysis_divide(struct analysis *);

/* strata.c: divides watches and open probes into strata. */
void analysis_stratify(struct analysis *);

/*
 * replicates.c: the estimate (0) and its replicates 1 .. replicate_count()-1. The bootstrap ones
 * draw bursts (Poisson weights) and rates. The others make another assumption each, and widen
 * intervals by what it changes.
 */
enum assumption {
    ASSUME_NOTHING,
    ASSUME_ADDED_LINES,   /* lines after a burst come on top of those in it, at the mean pace */
    ASSUME_UNEQUAL_LINES, /* lines of a stratum differ in how often they are used */
    ASSUME_OWN_LINE,  /* larger lines: the rest is used together with the run's line, or never */
    ASSUME_ONE_VISIT, /* other threads come to a line once at most before its next use */
};

void replicates_create(struct analysis *);
/* Of what merging does not renumber. */
uint64_t replicate_record_key(const struct record_burst *);
uint32_t replicate_count(const struct analysis *);
enum assumption replicate_assumption(const struct analysis *, uint32_t replicate);
/* Times that the burst is drawn, and the factor of its loop's rate. */
double replicate_burst_factor(const struct analysis *, uint32_t replicate, uint32_t burst);
/* Its weight times that factor, in the first `count` replicates. */
void replicate_burst_weights(const struct analysis *, uint32_t burst, uint32_t count,
                             double *weights);
/*
 * Bursts are taken at regular times: how much time they stand for is certain, only what they hit is
 * drawn. By this factor a replicate's accesses are brought to the same time.
 */
double replicate_time_factor(const struct analysis *, uint32_t replicate);
double replicate_weight(const struct analysis *, uint32_t replicate, uint32_t sample);
/* That weight over the sample's own and its loop's rate factor. */
unsigned replicate_times_drawn(const struct analysis *, uint32_t replicate, uint32_t sample);
double replicate_rate_factor(const struct analysis *, uint32_t replicate, uint32_t loop);

/* Interval of values[0] from its replicates; floor: least distance from value that is claimed;
 * bursts: that it rests on. */
struct estimate replicate_interval(const struct analysis *, const double *values, double floor,
                                   size_t bursts);
/* The same for values that are no shares: of any size, and with extremes on both sides. */
struct estimate replicate_spread(const struct analysis *, const double *values, size_t bursts);

/*
 * open_lines.c: what becomes of open lines, by stratum, in every replicate. Created when bursts,
 * watches, cells, strata and replicates are there.
 */
struct open_lines *open_lines_create(const struct analysis *);
void open_lines_free(struct open_lines *);
/* [stratum][replicate], of replicate_count() of them: what open lines do in a cache of that many
 * lines; a size in which nothing fits: all miss. Kept once computed. */
const struct miss_shares *open_lines_at_size(const struct analysis *, double lines);
/* The same, of a stratum, of those that are used again at or after that time (accesses). */
struct miss_shares open_lines_at_time(const struct analysis *, double time, uint32_t replicate,
                                      uint32_t stratum);
/* Where a time (accesses) lies on the grid of the following two: to be found once for many. */
double open_lines_time_place(double time);
/* Share of the lines of a stratum that no other thread stores to for so long. */
double open_lines_valid(const struct analysis *, uint32_t replicate, uint32_t stratum,
                        double time_place);
/* Share to which no other thread of the group comes. */
double open_lines_alone(const struct analysis *, uint32_t replicate, uint32_t stratum,
                        double time_place);
/* Accesses after which a cache of that many lines evicts what was not used again, on average;
 * INFINITY: never. */
double open_lines_eviction_time(const struct analysis *, double lines);
/* Other lines that the group's other threads touch while a burst's thread makes so many accesses.
 */
double open_lines_of_others(const struct analysis *, uint32_t burst, double accesses);
/* Of a stratum's open lines, at the points of the grid of line_pace.h: the share that is still not
 * used, of this what nobody observes any more, and what was used but invalidated before. */
void open_lines_grid(const struct analysis *, uint32_t replicate, uint32_t stratum,
                     double *survival, double *unknown, double *invalidated);

/* exact.c: answers from histograms. */
void analysis_collect_histograms(struct analysis *);
bool exact_counts_shared(const struct analysis *); /* a cache of several threads was counted */
void exact_miss_ratio_curve(const struct analysis *, struct subset, const double *bytes, size_t n,
                            struct curve_point *points);
struct miss_split exact_misses(const struct analysis *, struct subset, double bytes);
size_t exact_histogram_shares(const struct analysis *, struct subset, uint8_t measure,
                              struct histogram_share **out);
struct estimate exact_accesses(const struct analysis *, struct subset);
void exact_line_use(const struct analysis *, const double *bytes, size_t n, uint32_t granule,
                    double *used);
uint32_t exact_granule(const struct analysis *);
/* Uses at that distance or farther, cold ones apart; a bin that it cuts counts in proportion. */
double exact_count_above(const struct record_histogram *, double distance);

#endif
