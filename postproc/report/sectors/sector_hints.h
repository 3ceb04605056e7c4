/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --sector-hints, worked out: which data structures to isolate in which regions, in how many ways
 * of which cache level, and what that saves. docs/sector-cache.md explains model and limits.
 */
#ifndef REUSE_POSTPROC_SECTOR_HINTS_H
#define REUSE_POSTPROC_SECTOR_HINTS_H

#include "analysis/sectors/sector_search.h"
#include "report/model/model.h"

/* Where advice applies: a function with all that it calls, a span of the API, or everything. */
struct sector_region {
    const char *name;
    bool whole;       /* everything that was asked about */
    bool span;        /* named through the API: no function */
    bool only_calls;  /* its late uses are made in functions that it calls */
    const char *file; /* of the accesses that the function itself makes; NULL: unknown */
    uint32_t first_line, last_line; /* of those; 0: unknown */
};

struct sector_regions {
    struct sector_region items[SECTOR_REGIONS_MAX];
    size_t count;
    uint32_t *of; /* by observation: bits */
};

/* sector_regions.c: chooses regions, everything first, then by how much is used late in them. */
void sector_regions_find(struct model *, struct sector_regions *);

enum sector_verdict {
    SECTOR_ISOLATE,
    SECTOR_NOTHING_TO_GAIN, /* within the interval, or less than what predictions are off by */
    SECTOR_BEYOND,          /* the cache is larger than what the profile can tell about */
};

/* The best division of one level in one region. */
struct sector_row {
    size_t region, level; /* of the machine */
    uint64_t isolated;    /* bits: structures */
    unsigned ways;
    struct sector_outcome outcome;
    double undivided; /* misses per access of the region */
    bool has_fewer, has_more;
    struct sector_outcome fewer, more; /* with one way less or more */
    enum sector_basis basis;
    double model_error; /* sector_model_error() of the division */
    enum sector_verdict verdict;
};

/* Distances of one region under one scenario: bin i from bounds[i] up to bounds[i + 1]. */
enum { SECTOR_BINS_MAX = 40 };
struct sector_histogram {
    size_t region;
    uint64_t isolated;                           /* 0: one cache for everything */
    double share[SECTOR_BINS_MAX][SECTOR_SIDES]; /* of the region's accesses; the last bin: cold */
};

/* A sector that is too small for what it should keep. */
struct sector_warning {
    size_t region, level;
    uint32_t structure;
    unsigned ways, enough; /* enough: the fewest ways with which nothing is lost */
    double factor;         /* misses with so few ways, over those of the undivided cache */
};

struct sector_hints {
    struct model *model;
    struct sector_regions regions;
    uint32_t *structures; /* objects of the model */
    size_t structure_count;
    uint32_t *structure_of;
    struct sector_model *sectors;
    struct sector_level levels[MACHINE_LEVELS_MAX]; /* ways 0: cannot be divided */
    double threads;                                 /* that share a cache of several cores */
    ARRAY(struct sector_row) rows;
    ARRAY(struct sector_warning) warnings;
    double bounds[SECTOR_BINS_MAX + 1]; /* lines; the last one INFINITY */
    size_t bins;
    ARRAY(struct sector_histogram) histograms;
};

/* NULL, with one line in message, when the profile or the machine cannot answer. */
struct sector_hints *sector_hints_create(struct model *, char *message, size_t size);
void sector_hints_free(struct sector_hints *);

/* "m" or "values, column_indices". */
char *sector_names(const struct sector_hints *, uint64_t isolated);
/* Accesses of a region, for misses in accesses. */
double sector_region_accesses(const struct sector_hints *, size_t region);
/* Ways of a level in which a set loses least, the fewest of them; *misses per access with them. */
unsigned sector_companion_ways(const struct sector_hints *, size_t region, size_t level,
                               uint64_t isolated, double *misses, double *undivided);

#endif
