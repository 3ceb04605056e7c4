/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the addresses of each instruction follow each other in a burst: by even steps across lines,
 * in no order, or from a loaded address to the next. What is left out goes along its lines.
 *
 * Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_ADDRESS_STEPS_H
#define REUSE_SAMPLING_ADDRESS_STEPS_H

#include "isa/provenance.h"
#include "profile/format.h"
#include "sampling/burst.h"

enum {
    /* Told of a burst at most: those with most far steps. */
    ADDRESS_STEPS_MAX = 32,
    ADDRESS_STEPS_INSTRUCTIONS = 256, /* looked at; more are not in a loop that matters */
    /* An instruction is told if it has so many accesses, and one in so many of them is far from
       the one before. */
    ADDRESS_STEPS_ACCESSES = 8,
    ADDRESS_STEPS_FAR_ONE_IN = 8,
};

/* An instruction while its accesses are counted. */
struct counted_steps {
    struct address_steps steps;
    uint64_t address; /* its last one */
    int64_t step;     /* its last one; 0: none */
    uint32_t votes;   /* for steps.stride, less those against it */
};

/* Needs no preparation; used by one thread at a time. */
struct step_counter {
    uint16_t place[2 * ADDRESS_STEPS_INSTRUCTIONS]; /* 1 + number of the instruction, by hash */
    struct counted_steps counted[ADDRESS_STEPS_INSTRUCTIONS];
    uint32_t count;
};

/* provenance: what the addresses of a part of the burst were made of; NULL: not known. Fills out
 * (ADDRESS_STEPS_MAX of room) and returns how many it has. */
uint32_t address_steps_find(struct step_counter *, const struct burst *, uint32_t line_size,
                            const struct provenance *, struct address_steps *out);

#endif
