/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all sections work on: the profiles, their analysis, and labels that say to which line,
 * object, context and thread each observation belongs.
 *
 * An observation is a group of probes of a sampled profile or a histogram of an exact one; they are
 * numbered as the analysis numbers them, at all line sizes alike.
 */
#ifndef REUSE_POSTPROC_MODEL_H
#define REUSE_POSTPROC_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/comparison.h"
#include "machine/machine.h"
#include "report/model/resolver.h"
#include "report/options.h"
#include "symbols/allocation_name.h"

enum { GROUP_NONE = 0xffffffffu };

/* What rests on fewer bursts has no interval that could be relied on. */
enum { MODEL_BURSTS_MIN = 20 };

/* The sizes at which every curve of the report is evaluated. */
enum { MODEL_SIZES_MAX = ANALYSIS_CURVE_SIZES + MACHINE_LEVELS_MAX, MODEL_OCTAVES = 17 };

/* A group with its curve at the model's sizes. */
struct ranked_group {
    uint32_t group;
    double accesses;
    struct curve_point points[MODEL_SIZES_MAX];
    struct estimate shares[MACHINE_LEVELS_MAX]; /* of all misses of each level */
};

struct ranking {
    struct ranked_group *items;
    size_t count;
    bool done;
};

/* Groups of observations that have something in common. */
struct grouping {
    uint32_t *labels; /* of each observation; GROUP_NONE: in none */
    size_t count;     /* groups */
    double *accesses; /* of each group */
    size_t *bursts;   /* in which each group occurs; 0 in exact profiles */
    bool objects;     /* by data objects: see struct subset */
    /* The observations of group g are members[first[g]] .. [first[g + 1] - 1]; NULL: not listed. */
    uint32_t *members;
    size_t *first;
    struct ranking ranking;
};

/* A source line, or what is known of the code instead. */
struct code_line {
    const char *function; /* never NULL */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
    const char *module;   /* NULL: unknown */
};

struct data_object {
    const char *name;            /* never NULL */
    const char *kind;            /* heap, global, stack, mapping, named, unknown */
    uint64_t size;               /* bytes; 0: unknown */
    uint64_t blocks;             /* heap: allocated blocks; 0: unknown */
    uint64_t bytes;              /* heap: of all these blocks; 0: unknown */
    uint64_t peak_bytes;         /* heap: most that lived at once; 0: unknown */
    const char *function, *file; /* of the allocation or declaration; NULL: unknown */
    uint32_t line;
    uint32_t column;             /* heap: where only it tells blocks of a line apart; else 0 */
    const char *module;          /* heap: of the code that allocates; NULL: unknown */
    struct symbol_module *owner; /* heap, global: whose debug information tells its type, where
                                    there is any; NULL: unknown */
    struct data_type type;       /* what its memory consists of; no module: not known */
    const char *try_places; /* heap: places that `reuse-run --try` takes, by commas; NULL: none */
};

typedef ARRAY(struct data_object) data_objects;
struct model;

/* Bytes of memory that the object takes, all its blocks together, at most; 0: not known. */
double data_object_extent(const struct data_object *);

/* The same, but no more than the run touched: of what is reserved at times little is used. */
double data_object_in_use(const struct model *, const struct data_object *);

/* A calling context as source frames, innermost first. */
struct calling_context {
    struct code_line *frames;
    size_t count;
};

struct thread_entry {
    size_t profile;
    uint32_t thread_id;
    int32_t tid;
    const char *name;
    uint64_t cpu_ns;               /* 0: unknown */
    const char *pid, *host, *rank; /* of its process; NULL: unknown */
};

struct findings;
struct shared_cache;

/* A watch: the first observation of its burst that tells of such lines; and the first of any burst
 * of the line of source that came back to it, for who comes back may be in another loop. */
struct watched_line {
    uint32_t left_by, came_back;
};

struct model {
    const struct report_options *options;
    const struct profile *const *profiles;
    size_t profile_count;
    struct analysis *analysis;
    struct analysis_options asked; /* what it was made with */
    struct intern_table *strings;
    struct file_search search;
    struct resolver *resolver;
    struct allocation_namer *namer;

    bool exact;
    uint32_t line_rate; /* exact: one line in so many was followed; 1: all of them */
    size_t observations;
    size_t bursts;          /* that the report rests on: of the region or everything; 0: exact */
    struct machine machine; /* levels 0: not known */
    bool machine_assumed;   /* the profile has none: common sizes stand in */

    double sizes[MODEL_SIZES_MAX]; /* ascending: those of a curve and those of the machine */
    size_t size_count;
    size_t level_size[MACHINE_LEVELS_MAX]; /* index in sizes of each level */
    struct curve_point whole[MODEL_SIZES_MAX];
    struct curve_point octaves[MODEL_OCTAVES]; /* the same curve at 1 KiB, 2 KiB ... 64 MiB */

    /* Where the profile also counts every access: the same of the counts, and how far off the
     * estimate is. */
    bool has_truth;
    struct curve_point true_whole[MODEL_SIZES_MAX], true_octaves[MODEL_OCTAVES];
    struct comparison comparison;

    struct miss_split misses[MACHINE_LEVELS_MAX];
    struct miss_totals *miss_totals; /* at the machine's levels; NULL until asked for */

    ARRAY(struct shared_cache) shared; /* shared_caches.h; use shared_caches() */
    bool shared_done;

    struct watched_line *watched; /* last_uses.c: by watch; NULL until asked for */

    uint32_t *region;         /* labels: 0 inside; NULL when no region was asked for */
    bool region_is_split;     /* exact: it was also counted by line and object */
    struct estimate accesses; /* of the region or everything */

    struct grouping by_line, by_object, by_context, by_thread;
    ARRAY(struct code_line) lines;
    data_objects objects;
    uint64_t *object_offsets; /* of each observation in its object, or OFFSET_UNKNOWN
                                 (object_labels.h); NULL: exact, or objects are not labelled */
    ARRAY(struct calling_context) contexts;
    ARRAY(struct thread_entry) threads;

    struct communication_view *communication; /* NULL until asked for */
    struct findings *findings;                /* findings/findings.h; NULL until asked for */
    struct analysis *longer_lines;            /* findings/line_order.h; NULL until asked for */
    bool longer_lines_tried;
    struct modelled_pace **paces; /* findings/modelled_pace.h: of each profile's bursts */

    ARRAY(const char *) remarks; /* on names, for the notes */
    char *failure; /* of a section that cannot answer: one line for the user; NULL: none */
};

/* NULL with one line in message on failure. options and profiles must outlive the model. */
struct model *model_create(const struct report_options *, const struct profile *const *profiles,
                           size_t profile_count, char *message, size_t message_size);
void model_free(struct model *);

/* A curve at the model's sizes, and at its octaves. */
void model_evaluate_curve(const struct model *, const struct analysis *, struct subset,
                          struct curve_point whole[MODEL_SIZES_MAX],
                          struct curve_point octaves[MODEL_OCTAVES]);

/* Misses of everything that was asked about, in `count` levels of the machine from `first` on. */
void model_evaluate_levels(const struct model *, const struct analysis *, size_t first,
                           size_t count, struct miss_split *misses);

/* Everything that was asked about: the region, or all accesses. */
struct subset model_whole(const struct model *);

/* Whether the report is about a thread: the one that was asked for, or all. */
bool model_looks_at(const struct model *, const struct profile *, uint32_t thread_id);

/*
 * False when lines and objects of what was asked about are not known: an exact profile counts them
 * for the whole process, not for one region or thread.
 */
bool model_splits(const struct model *);

/* Exact profiles: whether a histogram counts the accesses that the report is about: those of the
 * region that was asked for, or all. */
bool model_counts(const struct model *, size_t profile, const struct record_histogram *);

/* A frame as a line of code. Without a source line the function, or the address, stands for it. */
struct code_line model_line_of_frame(struct model *, const struct location *, size_t frame);

/*
 * The line of the program that made an access: through inlined headers of the language, and, when
 * the compiler did not inline them, through their callers. context_id 0: unknown.
 */
struct code_line model_own_line(struct model *, size_t profile, uint64_t ip, uint32_t context_id,
                                uint64_t monotonic_ns);

/*
 * All source frames of a context, inlined ones included; of the instruction alone if there is none.
 * The caller frees the frames.
 */
struct calling_context model_resolve_context(struct model *, size_t profile, uint32_t context_id,
                                             uint64_t ip, uint64_t monotonic_ns);

/* Once labels and count are final: lists the members, of sampled profiles only. */
void grouping_list_members(struct grouping *, size_t observations);
/* Likewise: counts the bursts of each group. */
void grouping_count_bursts(const struct model *, struct grouping *);
/* The observations of a group; quick where its members are listed. */
struct subset grouping_subset(const struct grouping *, uint32_t group);
void grouping_free(struct grouping *);

/* Label the observations; called once each, by the sections that need them. */
void model_label_lines(struct model *);
void model_label_objects(struct model *);
void model_label_contexts(struct model *);
void model_label_threads(struct model *);

/*
 * The groups with most misses at the focus level, most first, as many as the options want rows.
 * Computed once; groups that cannot be among them are not evaluated.
 */
const struct ranking *model_rank(struct model *, struct grouping *);

/* Threads that make as many accesses as the busiest one would, in the profile with most of them. */
double model_busy_threads(struct model *);

/* Of the run; all 0 if the report is about another machine than that of the run. */
struct timed_lines model_timed_lines(const struct model *);

/* The level whose misses decide what is worth looking at: the second one if there are two. */
size_t model_focus_level(const struct model *);

/* Parts of all misses of the machine's levels that a subset makes. */
void model_shares_of_misses(struct model *, struct subset,
                            struct estimate shares[MACHINE_LEVELS_MAX]);

enum median { MEDIAN_KNOWN, MEDIAN_BEYOND, MEDIAN_ABOVE };

/*
 * Median stack distance, in bytes, of those accesses of a group that miss in a cache of the size
 * with index `from` (MODEL_SIZES_MAX: of all accesses). MEDIAN_BEYOND: it was not watched for that
 * long; MEDIAN_ABOVE: it is larger than the largest size, or more than half is never used again.
 */
enum median model_median_distance(const struct model *, const struct curve_point *points,
                                  size_t from, double *bytes);

#endif
