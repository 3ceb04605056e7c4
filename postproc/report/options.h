/* SPDX-License-Identifier: BSD-3-Clause */
/* What the user asked of reuse-report. */
#ifndef REUSE_POSTPROC_REPORT_OPTIONS_H
#define REUSE_POSTPROC_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/compare/condition.h"
#include "support/memory.h"

enum report_section {
    SECTION_SUMMARY,
    SECTION_JOB,
    SECTION_HISTOGRAM,
    SECTION_MRC,
    SECTION_THREADS,
    SECTION_OBJECTS,
    SECTION_STRUCTS,
    SECTION_LINES,
    SECTION_CONTEXTS,
    SECTION_TIMELINE,
    SECTION_TRAFFIC,
    SECTION_SECTOR_HINTS,
    SECTION_SHARING,
    SECTION_MATRIX,
    SECTION_BLOCKING,
    SECTION_PLACEMENT,
    SECTION_COUNT
};

/* Which transfers a communication matrix holds. */
enum matrix_kind {
    MATRIX_ALL,
    MATRIX_TRUE,
    MATRIX_FALSE,
    MATRIX_RAW,
    MATRIX_WAR,
    MATRIX_WAW,
    MATRIX_KINDS
};
extern const char *const matrix_kind_names[MATRIX_KINDS]; /* all, true ... */

enum matrix_by { MATRIX_BY_THREAD, MATRIX_BY_CORE, MATRIX_BY_PROCESS, MATRIX_BY_RANK };

/* What the ranks of a job are put together by. */
enum job_by { JOB_BY_DEFAULT, JOB_BY_RANK, JOB_BY_NODE, JOB_BY_GROUP };

/* Transfers in the code of barriers and locks: in a matrix of their own, nowhere, or like others.
 */
enum runtime_transfers { RUNTIME_SPLIT, RUNTIME_DROP, RUNTIME_INCLUDE };

/* The matrix alone: with a header and a line per source; or without header, symmetric, last thread
 * first. */
enum csv_layout {
    CSV_LAYOUT_NONE, /* not asked for: all that the sections have */
    CSV_LAYOUT_TABLE,
    CSV_LAYOUT_EAGERMAP
};

/* Fewer threads than cores: close to each other, far apart, or what costs less. */
enum placement_style { PLACEMENT_AUTO, PLACEMENT_PACK, PLACEMENT_SPREAD };

/* Colours of text: where it goes to a terminal that has them, or as said. */
enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

enum report_format {
    FORMAT_TEXT,
    FORMAT_JSON,
    FORMAT_CSV,
    FORMAT_HTML,
    FORMAT_CALLGRIND, /* from here on those of other tools: export/export.h */
    FORMAT_COLLAPSED,
    FORMAT_SPEEDSCOPE,
    FORMAT_PPROF,
    FORMAT_OPENMETRICS,
};

struct report_options {
    bool sections[SECTION_COUNT];
    enum report_format format;
    const char *event;   /* of collapsed stacks; NULL: misses of the level that matters most */
    const char *machine; /* name or file; NULL: that of the run */
    const char *group;   /* CPUs that share a cache (cpu_groups.h); NULL: as the machine says */
    uint32_t line_size;  /* 0: that of the run */
    bool all_bursts;     /* of very many bursts, too, not a random part */
    int32_t thread;      /* kernel's tid; 0: all */
    const char *region;  /* function or region; NULL: everything */
    enum matrix_kind matrix;
    enum matrix_by matrix_by;
    enum job_by job_by;
    enum runtime_transfers runtime;
    enum csv_layout csv_layout;
    enum placement_style placement;
    const char *topology; /* file or synthetic description; NULL: of the machine */
    enum color_when color;
    size_t top;          /* rows of the tables that have no natural end */
    const char *output;  /* NULL: standard output */
    const char *sysroot; /* "" when not given */
    ARRAY(const char *) debug_directories;
    bool no_source; /* html: without the text of source files */
    bool merge;
    bool diff; /* of the first `before` profiles and the others */
    size_t before;
    ARRAY(struct condition) conditions; /* of --fail-if */
    bool fail_if_unsure;
    bool verbose;
    ARRAY(const char *) profiles;
};

enum options_result {
    OPTIONS_RUN,
    OPTIONS_DONE,  /* --help or --version was printed: exit 0 */
    OPTIONS_WRONG, /* one line was written to stderr: exit 2 */
};

/* Strings point into argv. */
enum options_result report_options_parse(struct report_options *, int argc, char **argv);
void report_options_free(struct report_options *);

#endif
