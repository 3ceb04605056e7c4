/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loop heads seen while looking ahead, and odometers among their registers: a general register
 * that is different by one constant step at every visit of a loop head, read twice, tells how many
 * visits, and so how many accesses, lie between the two readings.
 *
 * Fed by the interpreter's backward-branch hook. Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_LOOPS_H
#define REUSE_SAMPLING_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

enum { LOOPS_MAX = 32, LOOP_REGISTERS = 16, LOOP_STACK_POINTER = 4 };

struct loop_head {
    uint64_t ip;
    uint64_t stack_pointer; /* of the activation; another one is another loop */
    uint32_t visits;
    uint32_t steady;          /* bit r: register r kept one constant non-zero step so far */
    uint64_t first_accesses;  /* access count at the first and the last visit */
    uint64_t last_accesses;
    uint64_t snapshot[LOOP_REGISTERS]; /* all registers at the last visit */
    int64_t step[LOOP_REGISTERS];
};

struct loops {
    unsigned count;
    unsigned recent; /* most recently visited, tried first */
    struct loop_head heads[LOOPS_MAX];
};

void loops_begin(struct loops *);

/* A visit of the head at ip: registers (hardware order), which of them are unknown, accesses so far. */
void loops_visit(struct loops *, uint64_t ip, const uint64_t registers[LOOP_REGISTERS],
                 uint32_t unknown, uint64_t accesses);

/* The head that was visited most: names the innermost running loop. NULL: no backward branch. */
const struct loop_head *loops_hottest(const struct loops *);

struct odometer {
    uint64_t head;          /* ip of the loop head */
    uint64_t stack_pointer;
    unsigned register_number;
    int64_t step;           /* per visit */
    double accesses_per_visit;
    uint64_t next_value;    /* at the last visit seen */
    uint64_t accesses;      /* access count at that visit */
};

/*
 * The odometer with the longest period: a head with at least three visits and a steady register, and
 * of those the one with the most accesses per visit. NULL when there is none.
 */
const struct loop_head *loops_odometer(const struct loops *, struct odometer *);

#endif
