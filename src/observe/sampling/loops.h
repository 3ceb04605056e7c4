/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loop heads seen while looking ahead, and odometers: general registers that are different by one
 * constant step at every visit of a loop head, or at least always grow or always shrink. Read
 * twice, they tell how far the loop got in between.
 *
 * Fed by the interpreter's backward-branch hook. Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_LOOPS_H
#define REUSE_SAMPLING_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "isa/registers.h"

enum {
    LOOPS_MAX = 32,
    LOOP_REGISTERS = INTERPRETER_REGISTERS,
    LOOP_STACK_POINTER = INTERPRETER_STACK_POINTER,
};

struct loop_head {
    uint64_t ip;
    uint64_t stack_pointer; /* of the activation; another one is another loop */
    uint32_t visits;
    uint32_t steady; /* bit r: register r kept one constant non-zero step so far */
    uint32_t known;  /* bit r: its value at the first visit is known */
    uint32_t rising; /* bit r: it only grew, by whatever */
    uint32_t falling;
    uint64_t first_accesses; /* access count at the first and the last visit */
    uint64_t last_accesses;
    double squared_lengths;            /* sum over the visits' lengths in accesses, squared */
    uint64_t first[LOOP_REGISTERS];    /* registers at the first visit */
    uint64_t snapshot[LOOP_REGISTERS]; /* and the last */
    int64_t step[LOOP_REGISTERS];
};

struct loops {
    unsigned count;
    unsigned recent; /* most recently visited, tried first */
    struct loop_head heads[LOOPS_MAX];
};

void loops_begin(struct loops *);

/* A visit of the head at ip: registers (hardware order), which of them are unknown, accesses so
 * far. */
void loops_visit(struct loops *, uint64_t ip, const uint64_t registers[LOOP_REGISTERS],
                 uint32_t unknown, uint64_t accesses);

/* The head that was visited most: names the innermost running loop. NULL: no backward branch. */
const struct loop_head *loops_hottest(const struct loops *);

/* The activation of the head at ip that was visited last. NULL: none was. */
const struct loop_head *loops_head(const struct loops *, uint64_t ip);

struct odometer {
    uint64_t head; /* ip of the loop head */
    uint64_t stack_pointer;
    unsigned register_number;
    /* Change per visit, or 1 or -1 where it differs: progress is then counted in the value itself.
     */
    int64_t step;
    bool even; /* it is the change per visit */
};

/* Progress between two values of an odometer, in its steps. */
double odometer_progress(const struct odometer *, uint64_t from, uint64_t to);

/*
 * The odometers of the head with the longest visits, at most LOOP_ODOMETERS: a head with at least
 * two visits and a register that is steady, or else moves one way, that still came round when
 * looking ahead ended, after `accesses`. Visits may differ in length. Two visits prove little: the
 * register must be seen to move on later. Returns how many; 0: there is none.
 */
enum { LOOP_ODOMETERS = 3 };
unsigned loops_odometers(const struct loops *, uint64_t accesses,
                         struct odometer odometers[LOOP_ODOMETERS]);

#endif
