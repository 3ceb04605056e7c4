/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions: functions that the user chose, callees included, and spans that the program marks by the
 * API (runtime/reuse.h). What a thread is in at a time is a set of regions, which has a number: a
 * node of a tree whose paths are such sets. Accesses are counted by node; a region's are those of
 * all nodes on whose path it lies.
 */
#ifndef REUSE_EXACT_REGIONS_H
#define REUSE_EXACT_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/writer.h"
#include "reuse/exact_calls.h"
#include "stream.h"

enum {
    REGIONS_MAX = 1024, /* a region's number is 1 .. REGIONS_MAX */
    REGIONS_SPLIT_MAX = 64,
    REGION_NODES_MAX = 8192, /* node 0: in no region */
    REGION_SPANS_MAX = 32,   /* of the API, nested */
};

/*
 * Before the guest starts: functions by name, separated by commas; * ? [] are wildcards. C++ and
 * Rust functions by their qualified name without parameters.
 */
void regions_choose(const char *names);

/* Whether functions were chosen: then calls must be followed. */
bool regions_follow_calls(void);

/* The functions of a module that was loaded, or is no longer there. */
void regions_add_module(const char *path, uint64_t load_bias);
void regions_remove_module(uint64_t start, uint64_t end);

/* The region whose function begins at a code address; 0 none. */
uint32_t regions_entered_at(uint64_t address);

/* The number of a region by its name (of the API); 0 when there are too many. */
uint32_t regions_named(const char *name);

uint32_t regions_count(void);

/* Regions 1 .. this are also counted by object and line: all but very many. */
uint32_t regions_split(void);

/* Whether accesses counted by the node are the region's. */
bool regions_contain(uint32_t node, uint32_t region);

/* What a thread is in. Zeroed is nothing; used under the thread's lock. */
struct region_state {
    uint32_t node;
    struct exact_calls calls;
    uint32_t spans[REGION_SPANS_MAX]; /* nodes of the API's regions alone */
    unsigned depth;
    struct {
        uint32_t node, region, child;
    } known[16];
};

/* After an access with one of STREAM_CALL, STREAM_RETURN and STREAM_ENTER. */
void regions_follow(struct region_state *, const struct guest_thread *,
                    const struct stream_access *);

/* The API: a span begins, or the innermost one ends. */
void regions_span_begin(struct region_state *, uint32_t region);
void regions_span_end(struct region_state *);

/* Appends the regions that have not been written. */
void regions_write(struct profile_writer *, uint64_t now_ns);

/* A chosen name that no function of the program had; `index` counts them. NULL: no more. */
const char *regions_unknown_name(unsigned index);

void regions_after_fork(void);

#endif
