/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a profile in the formats of other tools. Errors are those of the stream: see ferror(). */
#ifndef REUSE_POSTPROC_REPORT_EXPORT_EXPORT_H
#define REUSE_POSTPROC_REPORT_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/export/stacks.h"

/*
 * Reads "text", "json" ... or "collapsed:EVENT" into the options. False: there is no such format.
 */
bool format_parse(const char *name, struct report_options *);

#define FORMAT_LIST                                                                                \
    "text, json, csv, html, callgrind, collapsed[:EVENT], speedscope, pprof or openmetrics"

/* Whether the format is one of another tool, which export_write() writes. */
bool format_is_export(enum report_format);

/* False with one line in message: an event that there is not, or lack of memory to compress. */
bool export_write(struct model *, FILE *, char *message, size_t message_size);

/* The writers; `event` is the number of one. */
void export_callgrind(const struct export_stacks *, FILE *);
void export_collapsed(const struct export_stacks *, size_t event, FILE *);
void export_speedscope(const struct export_stacks *, FILE *);
bool export_pprof(const struct export_stacks *, FILE *);
void export_openmetrics(struct model *, FILE *);

#endif
