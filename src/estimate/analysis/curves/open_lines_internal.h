/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of open_lines share. Nobody else includes it. */
#ifndef REUSE_ANALYSIS_OPEN_LINES_INTERNAL_H
#define REUSE_ANALYSIS_OPEN_LINES_INTERNAL_H

#include "analysis/curves/line_pace.h"
#include "analysis/internal.h"

/* Observations of other threads that a stratum of its own hazard needs. */
enum { OWN_HAZARD_MIN = 16 };

/* Points of the grid of line_pace.h up to some times the longest burst. */
enum { SHORT_POINTS = PACE_PER_OCTAVE * 20 + 2 };

/* A part of a stratum's open lines, and what became of it. */
struct outcome {
    double time;     /* of the use, accesses since the one before; INFINITY: never used again */
    double distance; /* stack distance of the use */
    float mass;      /* of all the stratum's open lines */
    float valid;     /* share of them that no other thread had invalidated by then */
    uint8_t kind;    /* enum open_step_kind */
};

/* What nobody saw end. */
struct unseen {
    double left;
    double lost,
        lost_distance; /* from this time since the use, and distance, on not all was seen */
};

struct fate {
    struct outcome *outcomes; /* stratum after stratum, ascending by time in each */
    size_t *first;            /* by stratum, and one more */
    struct unseen *unseen;
    /* [stratum][SHORT_POINTS]: share of lines that no other thread stored to for so long; to which
     * none of the group came. NULL: no such visit was seen. */
    float *valid, *alone;
};

/* Sizes that were asked for. */
struct known_size {
    double lines;
    struct miss_shares *of; /* [stratum][replicate] */
};

/* Watches in order, as open_survival() wants them: positions within their stratum. */
struct order {
    struct open_watch *watches; /* by_stratum */
    uint32_t *by_exit;
};

/* A line of which `distance` others are known after `accesses` since its use, where its burst ends.
 */
struct known_line {
    double distance, accesses;
    struct pace_place ahead; /* of the accesses */
    double own; /* groups: lines that its thread by itself touches in them, on average */
    uint32_t burst, cell, loop;
};

struct watched_line {
    struct known_line line;
    double weight;
    bool covered; /* stores of other threads were looked for */
};

/* Open probes of one burst in one stratum. */
struct open_count {
    uint32_t burst, stratum;
    double count;
};

/* Resolved ones, by bin of time. */
struct resolved_count {
    uint32_t burst, stratum, bin;
    double count;
};

/* Whose visits tell when other threads come to a stratum's lines. */
enum visitors { VISITORS_NONE, VISITORS_OWN, VISITORS_POOLED };

struct open_lines {
    const struct analysis *analysis;
    struct order order, by_word;  /* by_word: ASSUME_UNEQUAL_LINES */
    struct order stores;          /* of other threads: exits are when the line was invalidated */
    uint32_t *all_by_store;       /* the same watches of all strata in one order */
    double visits_per_store;      /* one was seen for */
    struct watched_line *watched; /* by position in by_stratum */
    struct known_line *crossed;   /* by crossing */
    struct open_count *opens;
    size_t open_count;
    struct resolved_count *resolved; /* where crossings were seen */
    size_t resolved_count;
    uint8_t *visitors;  /* by stratum: enum visitors */
    float *times;       /* [burst][PROBE_TIME_BINS]: resolved probes */
    double *dilation;   /* by cell: mean */
    struct fate *fates; /* by replicate */
    double *pace;       /* of the estimate: [cell][PACE_POINTS] */
    double *shared;     /* the same of all cells together */
    double *own_pace;   /* the same of a single thread, in bursts alone; NULL without groups */
    struct known_size *sizes; /* ascending */
    size_t size_count;
};

/* Scratch, and what steps 1 and 2 leave for step 3. */
struct replicate {
    uint32_t number;
    enum assumption assumption;
    double *factors;              /* by burst */
    double *weights;              /* by position in by_stratum */
    double *covered;              /* those of watches that looked for stores of others, else 0 */
    double *pooled;               /* of these, those of strata that have few */
    struct open_watch *watches;   /* of one stratum */
    struct open_step *steps;      /* of all strata, as fate->first numbers them */
    double *uses;                 /* by step: its time since the use; INFINITY: never */
    struct open_step *validities; /* of one stratum */
    struct open_hazard *hazards;
    double *areas;       /* [stratum][PACE_POINTS]: integral of the survival */
    double *pace;        /* [cell][PACE_POINTS] */
    double *shared;      /* the pace of all cells together, for ASSUME_ADDED_LINES */
    double *per_cell;    /* [cell][PROBE_TIME_BINS], probes[cell], opens[cell][stratum] */
    double *per_stratum; /* [cell][stratum][PROBE_TIME_BINS], where crossings were seen */
};

/*
 * watch_orders.c: the watches as three survivals see them: as they are; each by its word alone; and
 * until another thread stored to the line.
 */
void watch_orders_create(struct open_lines *);
void watch_orders_free(struct open_lines *);

/* open_distances.c; created when own_pace is there. */
void open_distances_create(struct open_lines *);
void open_distances_free(struct open_lines *);
/* The stack distance of the line's next use, at that time since the one before. */
double open_distance(const struct open_lines *, const struct replicate *, const struct known_line *,
                     struct pace_place use);

/* open_fates.c: one replicate. What is in the fate is freed with the open lines. */
void replicate_allocate(const struct analysis *, struct replicate *);
void replicate_free(struct replicate *);
void open_lines_estimate(const struct open_lines *, struct replicate *, struct fate *);

/* open_pace.c: G of each cell, from probes that are resolved and, by the replicate's areas, from
 * open ones of each stratum. Reads the replicate's factors and fate->alone; sets its pace and
 * shared. */
void open_pace_estimate(const struct open_lines *, struct replicate *, const struct fate *);

/*
 * open_validity.c: the share of lines that no other thread has stored to, at the uses that
 * fate->outcomes tells and at the points of the grid up to SHORT_POINTS. Strata in which few were
 * watched for stores of others share what all of these saw. Reads the replicate's covered weights;
 * allocates fate->valid and sets the outcomes' valid.
 */
void open_validity_estimate(const struct open_lines *, struct replicate *, struct fate *);

#endif
