/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conditions on a run or on the difference of two (--fail-if), as text:
 *
 *     condition := ["diff."] metric operator number
 *     metric    := "cpu_time" | "accesses" | "transfers" | "true_sharing.transfers"
 *                | "false_sharing.transfers"
 *                | ("l1" ... "l4") "." ("misses" | "miss_ratio" | "cold" | "capacity" |
 * "coherence") operator  := ">" | ">=" | "<" | "<=" number    := ["-"] digits ["." digits] ["%" |
 * "k" | "M" | "G" | "T" | "ns" | "us" | "ms" | "s"]
 *
 * Blanks may stand between these. Ratios are compared with a share (0.05) or percent (5%), times
 * with a time, amounts with a number. After "diff." percents are relative to the run before, and
 * other numbers are the difference itself.
 */
#ifndef REUSE_POSTPROC_REPORT_COMPARE_CONDITION_H
#define REUSE_POSTPROC_REPORT_COMPARE_CONDITION_H

#include <stdbool.h>
#include <stddef.h>

enum metric {
    METRIC_CPU_TIME,
    METRIC_ACCESSES,
    METRIC_TRANSFERS,
    METRIC_TRUE_SHARING,
    METRIC_FALSE_SHARING,
    METRIC_MISSES, /* of a level, from here on */
    METRIC_MISS_RATIO,
    METRIC_COLD,
    METRIC_CAPACITY,
    METRIC_COHERENCE,
};

struct condition {
    const char *text; /* as it was given */
    bool difference;
    enum metric metric;
    unsigned level; /* of the cache; 0: the metric has none */
    bool above;     /* > or >=, else < or <= */
    bool or_equal;
    bool relative; /* limit is a part of the run before */
    double limit;  /* in the metric's unit (ns, share, number) */
};

/* False with one line in message, which quotes the text. The text must outlive the condition. */
bool condition_parse(const char *text, struct condition *, char *message, size_t message_size);

/* What a metric is counted in. */
enum unit { UNIT_NUMBER, UNIT_SHARE, UNIT_TIME };
enum unit condition_unit(const struct condition *);

#endif
