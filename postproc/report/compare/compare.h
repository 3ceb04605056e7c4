/* SPDX-License-Identifier: BSD-3-Clause */
/* --diff and --fail-if: what main() needs of them. */
#ifndef REUSE_POSTPROC_REPORT_COMPARE_COMPARE_H
#define REUSE_POSTPROC_REPORT_COMPARE_COMPARE_H

#include <stdio.h>

#include "document/document.h"
#include "report/compare/judgement.h"
#include "report/compare/subjects.h"

/* What changed from one run (or several, the mean of their files) to another. */
void section_diff(struct comparison_side sides[SIDES], struct document *);

/* Facts on how the two sides were got, and what makes them hard to compare. */
void add_compared_runs(struct comparison_side sides[SIDES], struct document *, struct section *);

/* Fills in what a side is compared by. The caller frees it with comparison_side_free(). */
void comparison_side_init(struct comparison_side *, struct model *);
void comparison_side_free(struct comparison_side *);

/*
 * Decides the conditions of --fail-if: adds a section with the outcomes, and writes a line to
 * stream for each that holds or cannot be decided. before: NULL without --diff. True if the command
 * is to fail.
 */
bool judge_conditions(const struct report_options *, const struct run_figures *before,
                      const struct run_figures *after, struct document *, FILE *stream);

#endif
