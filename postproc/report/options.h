/* SPDX-License-Identifier: BSD-3-Clause */
/* What the user asked of reuse-report. */
#ifndef REUSE_POSTPROC_REPORT_OPTIONS_H
#define REUSE_POSTPROC_REPORT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/memory.h"

enum report_section {
    SECTION_SUMMARY,
    SECTION_HISTOGRAM,
    SECTION_MRC,
    SECTION_THREADS,
    SECTION_OBJECTS,
    SECTION_LINES,
    SECTION_CONTEXTS,
    SECTION_SECTOR_HINTS,
    SECTION_COUNT
};

enum report_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV };

struct report_options {
    bool sections[SECTION_COUNT];
    enum report_format format;
    const char *machine; /* name or file; NULL: that of the run */
    uint32_t line_size;  /* 0: that of the run */
    int32_t thread;      /* kernel's tid; 0: all */
    const char *region;  /* function or region; NULL: everything */
    size_t top;          /* rows of the tables that have no natural end */
    const char *output;  /* NULL: standard output */
    const char *sysroot; /* "" when not given */
    ARRAY(const char *) debug_directories;
    bool merge;
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
