/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The outer loop of every microbenchmark: a kernel is called once per iteration, on one or several
 * threads, until the time is up or the count is reached.
 */
#ifndef MICROBENCH_TIMING_H
#define MICROBENCH_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

/*
 * One thread's progress. run_continues() writes `iteration` once before every iteration and once
 * after the last: in a trace of memory accesses that store is the mark between iterations, and
 * --truth gives its address as "marker". Owned and written by its thread alone; padded so that
 * threads do not disturb each other.
 */
struct run {
    _Alignas(ARRAY_ALIGNMENT) volatile uint64_t iteration; /* of the running one, from 1 */
    uint64_t limit;       /* iterations to do; UINT64_MAX when time decides */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0 when the count decides */
    uint64_t next_look;   /* iteration before which the clock is read again */
    uint64_t stride;      /* iterations between two looks, doubled while they are short */
    uint64_t last_ns;     /* time of the last look */
};

/* True while another iteration is to be done. */
bool run_continues(struct run *);

/* A thread's part: calls the kernel while run_continues(). thread is 0 .. threads-1. */
typedef void run_work(void *context, size_t thread, struct run *run);

/*
 * Runs work on options->threads threads (thread 0 is the caller) and returns when all are done.
 * done[thread] receives the number of iterations that each did; markers, unless NULL, the address
 * of each thread's mark. May be called once.
 */
void run_threads(const struct run_options *options, run_work *work, void *context, uint64_t *done,
                 const volatile void **markers);

/* Splits `total` into `parts` as evenly as multiples of `unit` allow: where part `index` begins. */
size_t share_begin(size_t total, size_t unit, size_t parts, size_t index);

#endif
