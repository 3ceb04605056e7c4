/* SPDX-License-Identifier: BSD-3-Clause */
/* Names for what a handler sees: calling contexts, data objects, CPUs. Signal-safe. */
#ifndef REUSE_RUNTIME_ATTRIBUTION_H
#define REUSE_RUNTIME_ATTRIBUTION_H

#include <stdint.h>
#include <ucontext.h>

#include "thread.h"

/* Start-up: context tree, block map, allocation hooks. */
void attribution_begin(void);
void attribution_reset_after_fork(void);

/* Writes all contexts and sites to a new file. Signal-safe. */
void attribution_announce(void);

/* Context of the interrupted code with `ip` as innermost frame; 0 (and counted) when unknown. */
uint32_t attribution_context(struct thread *, ucontext_t *, uint64_t ip);

/* Context of the sample in the thread's window, by the calls on the way to it. */
uint32_t attribution_sample_context(struct thread *, ucontext_t *);

/* Fills the object_* fields for sample->address. */
void attribution_object(struct thread *, struct record_sample *);

uint16_t attribution_cpu(void);

/* Totals of every allocation site, at the end. */
void attribution_finish(void);

#endif
