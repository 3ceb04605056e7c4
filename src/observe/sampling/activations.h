/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers of functions that are under way, at a look and in the burst after it: of the one that
 * was interrupted, and of its callers once it has returned to them. Between moments at which the
 * stack pointer is the same they likely belong to one activation, and what only grew or only shrank
 * says how far it has got (progress.h).
 *
 * Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_ACTIVATIONS_H
#define REUSE_SAMPLING_ACTIVATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "isa/registers.h"

enum {
    ACTIVATIONS_MAX = 4, /* the interrupted function and three that called it */
    ACTIVATION_REGISTERS = INTERPRETER_REGISTERS,
};

/* At the look. */
struct activation_look {
    uint64_t stack_pointer;
    uint64_t registers[ACTIVATION_REGISTERS];
};

/* In the burst. */
struct activation {
    uint64_t place; /* of a caller: the instruction at which it went on; 0: the interrupted one */
    uint64_t stack_pointer;
    bool looked; /* it was there at the look */
    uint64_t at_look[ACTIVATION_REGISTERS];
    uint64_t first[ACTIVATION_REGISTERS], last[ACTIVATION_REGISTERS];
    uint32_t known;      /* bit for each: at all moments */
    uint32_t rose, fell; /* between two of them */
    uint64_t begin, end; /* accesses of the burst made at the first and the last moment */
};

struct activations {
    unsigned looks;
    struct activation_look look[ACTIVATIONS_MAX];
    unsigned count;
    struct activation burst[ACTIVATIONS_MAX];
};

/* The thread is interrupted at a look; goes on from there, and has returned to a caller. A burst
 * that waits to be taken up again loses its activations. */
void activations_look(struct activations *, const uint64_t registers[]);
void activations_look_return(struct activations *, const uint64_t registers[]);

/* A burst begins. looked: there was a look before it. */
void activations_begin(struct activations *, bool looked, const uint64_t registers[]);

/* `accesses` into the burst it has returned, to `place`; or is anywhere. unknown: a bit for each
 * register. */
void activations_return(struct activations *, uint64_t place, const uint64_t registers[],
                        uint32_t unknown, uint64_t accesses);
void activations_follow(struct activations *, const uint64_t registers[], uint32_t unknown,
                        uint64_t accesses);

/* How far a register moved in the burst, and before it since the look, if that is known. */
struct activation_move {
    double within, before;
    bool before_known;
};

/* False: it moved both ways in the burst, or not at all, or is not known. */
bool activation_moved(const struct activations *, unsigned activation, unsigned number,
                      struct activation_move *);

#endif
