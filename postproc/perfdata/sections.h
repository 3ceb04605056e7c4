/* SPDX-License-Identifier: BSD-3-Clause */
/* What reuse-report says about a perf.data file: a document as for profiles, with what addresses
 * and data sources alone can tell. */
#ifndef REUSE_POSTPROC_PERFDATA_SECTIONS_H
#define REUSE_POSTPROC_PERFDATA_SECTIONS_H

#include "document/document.h"
#include "perfdata/places.h"
#include "perfdata/stacks.h"
#include "report/options.h"

struct perfdata_view {
    const struct report_options *options;
    const struct recording *recording;
    const struct places *places;
    const struct stacks *stacks; /* NULL: contexts are not asked for */
    const bool *wanted;          /* accesses that are looked at (--thread), parallel to them */
    uint64_t count;              /* how many these are */
};

void perfdata_summary(const struct perfdata_view *, struct document *);
void perfdata_objects(const struct perfdata_view *, struct document *);
void perfdata_lines(const struct perfdata_view *, struct document *);
void perfdata_contexts(const struct perfdata_view *, struct document *);
void perfdata_sharing(const struct perfdata_view *, struct document *);

/* "file.c:12", or the best that is known; the caller frees it. */
char *perfdata_line_text(const struct code_place *);

/*
 * The report on one file. NULL with one line in `message` if the file or the options cannot be
 * served. The caller frees the document.
 */
struct document *perfdata_document(const struct report_options *, const char *path, char *message,
                                   size_t message_size);

#endif
