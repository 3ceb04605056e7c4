/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What hardware records tell about how accesses were served, added up by instruction, object,
 * source of the data, translation and class of latency: one thread's table, of bounded size.
 * When it is full, its owner writes the cells to the profile, where they add up again, and empties
 * it: nothing is dropped and nothing is rounded.
 *
 * Pure; no allocation; signal-safe. One thread at a time.
 */
#ifndef REUSE_SAMPLING_SERVED_H
#define REUSE_SAMPLING_SERVED_H

#include <stdbool.h>
#include <stdint.h>

#include "pmu/access_record.h"
#include "profile/format.h"

enum { SERVED_CELLS = 512, SERVED_PLACES = 4 * SERVED_CELLS };

struct served_table {
    uint32_t used;                           /* cells */
    uint16_t place[SERVED_PLACES];           /* by hash: number of the cell + 1; 0 free */
    struct record_served cell[SERVED_CELLS]; /* [0, used) without thread and time */
};

/* What the accessed address belongs to. */
struct served_object {
    uint8_t kind; /* enum object_kind */
    uint32_t reference;
};

/* Empties the table. Zeroed memory is an empty table as well. */
void served_clear(struct served_table *);

/*
 * Adds an access that a unit sampled (access_use() says that it is one), standing for `weight` of
 * the unit's events. False, and nothing is changed, when it needs a new cell and none is free.
 */
bool served_add(struct served_table *, const struct access_record *, struct served_object,
                uint64_t weight);

/*
 * Classes of latencies: 1, 2, 3 ... for 0, 1, 2 .. 7 cycles each, from 8 on four to an octave, at
 * most 124. Values of a class differ by less than a quarter.
 */
unsigned served_latency_class(uint32_t cycles);

#endif
