/* SPDX-License-Identifier: BSD-3-Clause */
/* Conditions decided on the figures of a run, or of two. */
#ifndef REUSE_POSTPROC_REPORT_COMPARE_JUDGEMENT_H
#define REUSE_POSTPROC_REPORT_COMPARE_JUDGEMENT_H

#include "report/compare/condition.h"
#include "report/compare/figures.h"

enum outcome {
    OUTCOME_FALSE,
    OUTCOME_TRUE,
    OUTCOME_UNSURE, /* the limit lies within the interval, or the figure is not known */
};

struct judgement {
    enum outcome outcome;
    bool known;
    struct estimate value; /* compared with the limit, if known */
    const char *why;       /* where it is not known; lives as long as the figures' models */
};

/* before: NULL without a run to compare with, which conditions with `difference` must not see. */
struct judgement condition_judge(const struct condition *, const struct run_figures *before,
                                 const struct run_figures *after);

/* The figure that the condition is about; why: as in a judgement. */
struct figure condition_figure(const struct condition *, const struct run_figures *,
                               const char **why);

/* "12.1 % (11.8 to 12.4 %)": a value in the condition's unit. The caller frees it. */
char *condition_value_text(const struct condition *, struct estimate);

#endif
