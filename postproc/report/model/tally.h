/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over groups of accesses that hardware sampled, and the tables that show them, whether they
 * come from a perf.data file or from a profile. */
#ifndef REUSE_POSTPROC_TALLY_H
#define REUSE_POSTPROC_TALLY_H

#include <stdint.h>

#include "document/document.h"
#include "pmu/access_record.h"
#include "profile/format.h"
#include "support/memory.h"

/* Samples of one latency, or of such as lie within a quarter of each other. */
struct tally_latency {
    double cycles; /* their mean */
    uint64_t samples;
};

struct tally {
    uint64_t samples, loads, stores, atomics;
    double weight;                         /* events of the unit that they stand for */
    uint64_t remote, modified;             /* from another node; modified in another cache (HITM) */
    ARRAY(struct tally_latency) latencies; /* of those that told one */
};

/* One sample, which stands for itself alone. */
void tally_add(struct tally *, const struct access_record *);
/* Samples of a profile that are alike. */
void tally_add_served(struct tally *, const struct record_served *);
void tally_free(struct tally *);

/* Latency that `share` of those told are not above; false if none is. Sorts. */
bool tally_quantile(struct tally *, double share, double *cycles);
bool tally_mean(const struct tally *, double *cycles);

/* Groups in the order of their samples, the most first; top of them. The caller frees the result.
 */
uint32_t *tally_ranking(const struct tally *, size_t count, size_t top, size_t *ranked);

/* Columns of a tally in tables, and its cells from cells[0] on; total: weight of all samples. */
#define TALLY_COLUMNS                                                                              \
    {.key = "samples", .heading = "samples"}, {.key = "share", .heading = "%"},                    \
        {.key = "loads", .heading = "loads"}, {.key = "stores", .heading = "stores"},              \
        {.key = "latency_mean", .heading = "latency\nmean"},                                       \
        {.key = "latency_p90", .heading = "latency\np90", .optional = true},                       \
        {.key = "remote", .heading = "remote", .optional = true},                                  \
    {                                                                                              \
        .key = "modified_elsewhere", .heading = "HITM"                                             \
    }
enum { TALLY_COLUMN_COUNT = 8 };
void tally_cells(struct tally *, double total, struct cell *cells);

/*
 * The tables that every report on sampled accesses has: by source of the data (LEVEL_COUNT tallies,
 * by enum access_level) and by translation (TRANSLATION_COUNT of them). basis: what the numbers
 * rest on; NULL: said elsewhere.
 */
struct table *tally_sources(struct document *, struct tally *, double total, const char *basis);
struct table *tally_translations(struct document *, struct tally *, double total,
                                 const char *basis);

#endif
