/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The access clock of one thread: application time -> accesses made so far. Pure.
 *
 * Each sample stands for weight_ns of application time in code of its loop, that is for
 * weight_ns * rate accesses. The clock runs through the samples with half of a sample's accesses
 * before it and half after; in between it is interpolated. Time in which no sample could be taken
 * (system calls) moves it no further than the samples around that time say. Where application time
 * counts accesses, the clock is that.
 */
#ifndef REUSE_ANALYSIS_ACCESS_CLOCK_H
#define REUSE_ANALYSIS_ACCESS_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_tick {
    uint64_t app_ns;
    double accesses; /* at app_ns */
    double rate;     /* accesses per ns around app_ns */
};

struct access_clock {
    struct clock_tick *ticks; /* ascending */
    size_t count;
    bool counted; /* app_ns counts accesses: nothing is estimated */
};

/* What a sample contributes. */
struct clock_sample {
    uint64_t app_ns;
    double accesses; /* that it stands for: weight_ns * rate */
    double rate;
};

/* samples in any order (they are sorted in place); a clock without samples stands still. */
void access_clock_create(struct clock_sample *samples, size_t n, bool counted,
                         struct access_clock *out);
void access_clock_free(struct access_clock *);

/* Accesses that the thread made between two times of its application clock. */
double access_clock_between(const struct access_clock *, uint64_t from_ns, uint64_t to_ns);

/* Distance from app_ns to the next sample after it, ns; UINT64_MAX after the last one. */
uint64_t access_clock_gap(const struct access_clock *, uint64_t app_ns);

#endif
