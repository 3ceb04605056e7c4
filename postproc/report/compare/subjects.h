/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects, lines and functions of two models, matched by name, with how their misses differ. */
#ifndef REUSE_POSTPROC_REPORT_COMPARE_SUBJECTS_H
#define REUSE_POSTPROC_REPORT_COMPARE_SUBJECTS_H

#include "report/compare/figures.h"
#include "report/compare/subject_names.h"

enum side { SIDE_BEFORE, SIDE_AFTER, SIDES };
enum subject_kind { SUBJECT_OBJECT, SUBJECT_LINE, SUBJECT_FUNCTION };

struct comparison_side {
    struct model *model;
    struct run_figures figures; /* per file */
    struct line_texts *texts;
};

struct subject {
    const char *name; /* lives as long as the list */
    const char *kind; /* of an object; else NULL */
    bool seen[SIDES];
    struct change misses[MACHINE_LEVELS_MAX]; /* per file, of the first `levels` levels */
};

struct subject_list {
    struct subject *items; /* the largest change of misses at the focus level first */
    size_t count;
    size_t levels;   /* that both sides have */
    size_t matched;  /* subjects that both sides have */
    size_t all;      /* subjects in all */
    size_t left_out; /* lines whose file is newer than its program */
    struct intern_table *names;
};

/*
 * At most `top` subjects. What a sampled side did not see may have been missed in all of its
 * bursts: it is zero, and at most what the rule of three allows (1 - 0.05^(1/bursts) of the
 * misses). Exact profiles do not tell rare instructions apart: it is at most what these have.
 */
struct subject_list subjects_compare(struct comparison_side sides[SIDES], enum subject_kind,
                                     size_t top);
void subjects_free(struct subject_list *);

/* The level whose misses order the subjects, of those that both have. */
size_t comparison_focus(const struct comparison_side sides[SIDES]);

/* Levels that both sides have. */
size_t comparison_levels(const struct comparison_side sides[SIDES]);

/* Objects by the transfers of the program's lines to them. */
struct moved_object {
    const char *name, *kind;
    struct change all, false_sharing; /* per file */
};
struct moved_list {
    struct moved_object *items; /* the largest change of all transfers first */
    size_t count;
    struct intern_table *names;
};
struct moved_list moved_compare(struct comparison_side sides[SIDES], size_t top);
void moved_free(struct moved_list *);

#endif
