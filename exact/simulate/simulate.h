/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine `simulate`: beside the exact analysis, every guest thread runs on simulated hardware
 * (processor.h). A consumer of the access stream; what it records goes into the same profile.
 */
#ifndef REUSE_EXACT_SIMULATE_SIMULATE_H
#define REUSE_EXACT_SIMULATE_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

#include "settings.h"
#include "simulate/recorder.h"
#include "stream.h"

/* Accesses from burst to burst, unless the user asks for another: bursts are 4 % of all. */
enum { SIMULATE_PERIOD = 100000 };

extern const struct stream_consumer simulate_consumer;

/* Before the guest starts, once; `consumer` is the place that the consumer will have. */
void simulate_start(const struct settings *, unsigned consumer);

/* Whether the engine is on. */
bool simulate_is_on(void);

/* Keys of RECORD_RUN that describe the simulated hardware: calls append(key, value) for each. */
void simulate_describe(void (*append)(void *context, const char *key, const char *value),
                       void *context);

/*
 * Moves what a thread has recorded since the last time behind what is in `into`; under the thread's
 * lock. The thread, and all modules and allocation sites known by then, must be written before.
 */
void simulate_collect(struct guest_thread *, struct recorder *into);

/* The same for the records of registers that all threads share: after those of all threads.
 * finishing: the process ends, and what they watch. */
void simulate_collect_shared(struct recorder *into, bool finishing);

/* In a forked child, on its only thread. */
void simulate_after_fork(void);

/* Whether so much waits to be written that it should be done soon. The calling thread's own. */
bool simulate_is_due(const struct guest_thread *);

/* The process ends: watches of a live thread end. Under its lock, after its last batch. */
void simulate_end(struct guest_thread *);

#endif
