/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over groups of sampled accesses, and the columns that show them. */
#ifndef REUSE_POSTPROC_TALLY_H
#define REUSE_POSTPROC_TALLY_H

#include <stdint.h>

#include "pmu/access_record.h"
#include "report/document.h"
#include "support/memory.h"

struct tally {
    uint64_t samples, loads, stores, atomics;
    uint64_t remote, modified; /* from another node; modified in another cache (HITM) */
    ARRAY(uint32_t) latencies; /* cycles, of those that told one */
};

void tally_add(struct tally *, const struct access_record *);
void tally_free(struct tally *);

/* Latency that `share` of those told are not above; false if none is. Sorts. */
bool tally_quantile(struct tally *, double share, double *cycles);
bool tally_mean(const struct tally *, double *cycles);

/* Groups in the order of their samples, the most first; top of them. The caller frees the result.
 */
uint32_t *tally_ranking(const struct tally *, size_t count, size_t top, size_t *ranked);

/* Columns of a tally in tables, and its cells from cells[0] on; total: of all samples. */
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
void tally_cells(struct tally *, uint64_t total, struct cell *cells);

#endif
