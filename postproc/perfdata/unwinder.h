/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stacks from registers and a copy of the stack's memory (perf record --call-graph dwarf), unwound
 * by call frame information through libunwind's interface for other processes: as perf does it, so
 * that both give the same stacks. Only of processes of this machine's kind.
 */
#ifndef REUSE_POSTPROC_UNWINDER_H
#define REUSE_POSTPROC_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata/loaded_files.h"

struct unwinder;

/* False: built without libunwind, no recording's machine is known. */
bool unwinder_is_built_in(void);

/* The files must outlive the result. */
struct unwinder *unwinder_create(const struct recording *, struct loaded_files *);
void unwinder_free(struct unwinder *);

/* Whether recordings of such a machine (uname -m) can be unwound here. */
bool unwinder_knows(const char *machine);

/*
 * The instructions of a sample's frames, innermost first: the interrupted one, and of its callers
 * the one before the place that the call returns to. Returns their number, at most max; 0 if the
 * sample has no registers.
 */
size_t unwinder_frames(struct unwinder *, const struct recorded_sample *, uint64_t *addresses,
                       size_t max);

#endif
