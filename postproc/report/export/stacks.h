/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profile as other tools have it: call stacks with a value for each event. The values are
 * estimates without their intervals, for which these formats have no place.
 *
 *     Acc    memory accesses
 *     LNm    accesses that miss in the cache of level N (modelled, private LRU)
 *     Inv    accesses that miss in the last level as another thread stored to the line; not where
 *            every access was counted, which is by line without them
 */
#ifndef REUSE_POSTPROC_REPORT_EXPORT_STACKS_H
#define REUSE_POSTPROC_REPORT_EXPORT_STACKS_H

#include "report/model/model.h"

enum { EXPORT_EVENTS_MAX = MACHINE_LEVELS_MAX + 2 };

struct export_event {
    char name[8];            /* "L2m" */
    const char *description; /* "misses at L2 (1 MiB), estimated"; lives as the model */
};

struct export_stack {
    const struct code_line *frames; /* innermost first; at least one */
    size_t count;
    double values[EXPORT_EVENTS_MAX]; /* accesses */
};

struct export_stacks {
    struct model *model;
    struct export_event events[EXPORT_EVENTS_MAX];
    size_t event_count, focus; /* focus: the event that is looked at first */
    ARRAY(struct export_stack) stacks;
};

/* The unit of all events. */
extern const char export_unit[];

/* Profiles that know no calling contexts have a stack of one frame for each line. */
struct export_stacks export_stacks_of(struct model *);
void export_stacks_free(struct export_stacks *);

/* A whole number of accesses. */
long long export_count(double value);

/* The program that ran, and what the numbers rest on; live as the model. */
const char *export_program(const struct model *);
const char *export_basis(const struct model *);

#endif
