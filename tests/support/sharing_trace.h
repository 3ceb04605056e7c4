/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of several threads that share lines, their transfers counted by brute force, and a sampled
 * profile of them, made by the policy of line watches on simulated registers.
 */
#ifndef REUSE_TESTS_SHARING_TRACE_H
#define REUSE_TESTS_SHARING_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"
#include "sampling/random.h"

enum { SHARING_THREADS = 32, SHARING_LINES = 4096 };

struct sharing_access {
    uint32_t thread; /* 1 .. SHARING_THREADS */
    uint32_t ip;
    uint32_t address; /* below 64 * SHARING_LINES */
    uint8_t width;
    uint8_t kind; /* both bits: a read-modify-write, one access of the trace */
};

struct sharing_trace {
    struct sharing_access *accesses;
    size_t count, capacity;
};

void sharing_trace_add(struct sharing_trace *, uint32_t thread, uint32_t address, uint8_t width,
                       uint8_t kind, uint32_t ip);
/* Adds accesses until there are so many: one thread fills buffers of 32 lines word by word, another
 * one reads them. */
void sharing_trace_buffers(struct sharing_trace *, struct random *, size_t accesses);
void sharing_trace_free(struct sharing_trace *);

/* Transfers [kind][true][source][destination]. */
struct sharing_truth {
    double transfers[4][2][SHARING_THREADS + 1][SHARING_THREADS + 1];
};
/* line_size: a power of two from 64. True and false are told apart at 64 only. */
void sharing_trace_count(const struct sharing_trace *, uint32_t line_size, struct sharing_truth *);

struct sharing_sampling {
    uint32_t period; /* accesses between samples, on average */
    uint64_t seed;
    bool look_ahead; /* visits are followed, as the interpreter would */
    bool waits;      /* whoever comes back to a line has waited for others to come there */
};

/* Writes a profile of the trace to the path. */
void sharing_trace_sample(const struct sharing_trace *, const struct sharing_sampling *,
                          const char *path);

#endif
