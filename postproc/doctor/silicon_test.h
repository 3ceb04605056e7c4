/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reuse-doctor --silicon-test: programs of known truth (docs/microbench.md) under an engine, and
 * how far its report is from that truth, as one JSON document for whoever owns the machine to send
 * back.
 */
#ifndef REUSE_POSTPROC_SILICON_TEST_H
#define REUSE_POSTPROC_SILICON_TEST_H

#include <jansson.h>
#include <stdbool.h>

struct silicon_options {
    const char *engine; /* "pmu"; "simulate" tries this test itself; "clock" */
    const char *cases;  /* names, separated by commas; NULL: all */
    const char *output; /* file of the JSON document */
};

/* A program, and what is compared. */
struct silicon_case {
    const char *name;
    const char *arguments[8]; /* of the microbenchmark arguments[0]; NULL ends them */
    const char *long_run;     /* length on a real machine: --seconds, or --iterations of a program
                                 whose truth depends on it */
    const char *short_run;    /* length where every access is simulated */
    bool transfers;           /* of data between threads; else the miss-ratio curve */
};

/* Runs them all. 0 if every case gave a result, else 1, with a line on standard error for each that
 * did not. */
int silicon_test(const struct silicon_options *);

/* ---- one comparison (silicon_result.c) ---- */

/* Estimates beside truths: what the report of a case says against its truth; iterations: that the
 * profiled run did. A new object. */
json_t *silicon_compare(const struct silicon_case *, const json_t *report, const json_t *truth,
                        double iterations);

#endif
