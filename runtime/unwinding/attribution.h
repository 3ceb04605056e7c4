/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for what a handler sees: calling contexts, data objects, CPUs. Signal-safe. */
#ifndef REUSE_RUNTIME_ATTRIBUTION_H
#define REUSE_RUNTIME_ATTRIBUTION_H

#include <stdint.h>
#include <ucontext.h>

#include "bursts/thread.h"
#include "sampling/burst.h"
#include "unwinding/unwind.h"

/* Start-up: context tree, block map, allocation hooks. */
void attribution_begin(void);
void attribution_reset_after_fork(void);

/* Allocations are no longer followed. */
void attribution_stop(void);

/* Writes all contexts and sites to a new file. Signal-safe. */
void attribution_announce(void);

/* Context of the interrupted code with `ip` as innermost frame; 0 (and counted) when unknown. */
uint32_t attribution_context(struct thread *, ucontext_t *, uint64_t ip);

/*
 * The return addresses above the interrupted function, innermost first, without those in our own
 * wrappers; how many there are, at most CALL_PATH_FRAMES. None while a tape is replayed: there is
 * no stack then.
 */
size_t attribution_frames(ucontext_t *, uint64_t frames[UNWIND_FRAMES_MAX]);

/* Number of the path with these return addresses (innermost first); 0 none. Not on the tape. */
uint32_t attribution_path(const uint64_t *frames, size_t n);

/* Number of the path that goes on from another (0: the outermost) by this return address; 0 none.
 * Not on the tape. */
uint32_t attribution_path_on(uint32_t path, uint64_t return_address);

/* Context of an instruction on a path; 0 (and counted) when unknown. */
uint32_t attribution_on_path(struct thread *, uint32_t path, uint64_t ip);

/* The profile will name this path and this instruction: writes what they need. A path of 0 counts
 * if there was no room for its number. */
void attribution_meet(struct thread *, uint32_t path, uint64_t ip);

/* Fills the object_* fields for sample->address. */
void attribution_object(const struct thread *, struct record_sample *);

uint16_t attribution_cpu(void);

/* Writes totals of the allocation sites that records name, where `wanted` says so (NULL: of all).
 */
void attribution_site_totals(bool (*wanted)(const struct record_site_totals *));

/* Totals of every allocation site, at the end. */
void attribution_finish(void);

/* The object at the address. The thread: for its own stack. */
void attribution_identify(const struct thread *, uint64_t address, struct burst_object *);

#endif
