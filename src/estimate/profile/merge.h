/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many profiles -> one whose content is their union. Not signal-safe.
 *
 * Every input process stays distinguishable: it becomes an origin (RECORD_ORIGIN) with its own run
 * keys, and its threads name it. Identifiers are given anew. What is the same in several inputs is
 * stored once: modules of one build-id, path and size get one place in memory for all origins (at
 * or above PROFILE_MERGED_ADDRESS), so that contexts, sites, regions and globals agree although
 * address space randomisation had moved them apart. Site totals and histograms with the same key
 * are added up. Merged files can be merged: in any order and tree the content is the same, but for
 * the numbers of identifiers and the order of records.
 *
 * Memory: one input at a time, plus what is kept once: contexts, sites, modules, regions,
 * histograms that are not of one thread or stack, and some 100 bytes per origin and cache. Of
 * processes that run the same code, each adds no more than these bytes.
 *
 * A calling context of a process that loaded another module over an unloaded one is resolved at the
 * time of the sample that names it. Code that belongs to no module (compiled at run time) keeps
 * its addresses and may coincide between origins.
 *
 * Inputs must agree on engine and line size. Watch ends without their sample are left out.
 *
 * Functions that fail write one line for the user into message, without a newline.
 */
#ifndef REUSE_PROFILE_MERGE_H
#define REUSE_PROFILE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/reader.h"

struct profile_merge;

/*
 * Starts an output. It is written beside out_path and takes that name at the end, so that inputs
 * may be overwritten and a failed merge leaves nothing behind. NULL on failure.
 */
struct profile_merge *profile_merge_begin(const char *out_path, char *message, size_t message_size);

/* Adds one profile, which may be freed afterwards. After a failure only abandon is allowed. */
bool profile_merge_add(struct profile_merge *, const struct profile *, char *message,
                       size_t message_size);

/* Completes the output. Frees the merge in any case. */
bool profile_merge_finish(struct profile_merge *, char *message, size_t message_size);

/* Frees the merge and removes what it had written. NULL is allowed. */
void profile_merge_abandon(struct profile_merge *);

/* All of the above for profiles that are loaded; n is at least 1. */
bool profile_merge(const struct profile *const *in, size_t n, const char *out_path, char *message,
                   size_t message_size);

/* The same for files, of which only one is in memory at a time. */
bool profile_merge_files(const char *const *paths, size_t n, const char *out_path, char *message,
                         size_t message_size);

#endif
