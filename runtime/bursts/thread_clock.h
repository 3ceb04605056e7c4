/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread of the engine `pmu` whose hardware events the kernel refused, though it gave them to
 * others (buffers and counters run out, another profiler comes): its CPU clock takes the samples
 * instead. The profile counts accesses, so its CPU time is turned into accesses at the rate of the
 * threads that do count: a model, and the report's notes say of how many threads.
 */
#ifndef REUSE_RUNTIME_THREAD_CLOCK_H
#define REUSE_RUNTIME_THREAD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

/* The rate now, and what had been reached when it began to hold. */
struct thread_clock {
    double rate; /* accesses per ns of CPU time; 0: hardware counts, or the engine is `clock` */
    uint64_t cpu_ns, accesses;
};

/* From threads that are counted, now and then: their rate. Until one has told, it is taken to be
 * two accesses per ns. Signal-safe. */
void thread_clock_tell_rate(double accesses_per_ns);

/* For the calling thread, whose hardware events were refused with `error`: 0, or -errno if it
 * cannot have a CPU clock either. Not yet enabled. The first one is told of in a line. */
int thread_clock_open(struct thread *, int error);

/* Accesses by then, from the thread's CPU time without ours. Never less than before. */
uint64_t thread_clock_accesses(const struct thread *, uint64_t cpu_ns);

/* A sample of it is due; sets what the next one stands for and returns its period, ns. Signal-safe.
 */
uint64_t thread_clock_next(struct thread *);

#endif
