/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of a perf.data file that give names: mappings, threads, forks. What is asked of them
 * is in recording.h. */
#ifndef REUSE_POSTPROC_RECORDED_NAMES_H
#define REUSE_POSTPROC_RECORDED_NAMES_H

#include "perfdata/recording.h"

/* Takes the record if it is one of these. time: of its identification, UINT64_MAX if it has none
 * that can be read. */
void recorded_names_take(struct recording *, const struct perf_file_record *, uint64_t time);

/* Once, after the last one. */
void recorded_names_sort(struct recording *);

#endif
