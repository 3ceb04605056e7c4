/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts by brute force, for tests: a random program, all uses and distances of its accesses found
 * by looking at each pair of touches, and the burst that is to find the same. One at a time; fails
 * the running test if the burst's own counts differ.
 */
#ifndef REUSE_TESTS_BURST_ORACLE_H
#define REUSE_TESTS_BURST_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/burst.h"

enum { BRUTE_TOUCHES = 3 * BURST_ACCESSES };

struct brute_touch {
    uint64_t line; /* first byte */
    uint32_t access;
};

struct brute_use {
    uint32_t next;     /* touch; 0: open */
    uint32_t distance; /* other lines between the two, or up to the end */
};

struct burst_oracle {
    struct burst *burst; /* under test */
    struct access stream[BURST_ACCESSES];
    uint32_t count;
    struct brute_touch touches[BRUTE_TOUCHES];
    struct brute_use uses[BRUTE_TOUCHES]; /* of those of probes */
    uint32_t touch_count, probe_count, open_count;
    uint32_t met;     /* groups that the burst told of */
    uint64_t met_sum; /* of their paths times 1000 and their instructions */
};

extern struct burst_oracle oracle;

/* The burst's surroundings: a page is an object (one a global, another in parts that are tracked
 * differently); the path changes every 700 accesses. */
extern const struct burst_host oracle_host;
void oracle_identify(void *user, uint64_t address, struct burst_object *);
uint32_t oracle_path(uint32_t access);

/* Accesses of every width, clustered so that lines of every size are used again at any distance. */
void oracle_make_stream(struct random *, uint32_t n, uint32_t pages, bool straddling);

/* Finds touches and uses by brute force. */
void oracle_find_all(uint32_t line_size);

/* The same, after the burst was fed with the stream, in pieces, and closed. */
void oracle_feed(struct random *, uint32_t line_size, bool wide);

/* Accesses that are probes. */
uint32_t oracle_probes(void);

/* The part of a touch's access that is in its line. */
struct burst_probe oracle_probe(uint32_t touch, uint32_t line_size);

#endif
