/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loop heads seen while looking ahead, and odometers among their variables: a general register, or
 * a word of the stack frame in code that keeps its variables there, that is different by one
 * constant step at every visit of a loop head. Read twice, it tells how many visits, and so how
 * many accesses, lie between the two readings.
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
    LOOP_FRAME_POINTER = INTERPRETER_FRAME_POINTER,
    LOOP_FRAME_WORDS = 24, /* of 4 bytes: the locals nearest to the frame's base */
};

struct loop_head {
    uint64_t ip;
    uint64_t stack_pointer; /* of the activation; another one is another loop */
    uint32_t visits;
    uint32_t steady;         /* bit r: register r kept one constant non-zero step so far */
    uint64_t first_accesses; /* access count at the first and the last visit */
    uint64_t last_accesses;
    double squared_lengths;            /* sum over the visits' lengths in accesses, squared */
    uint64_t snapshot[LOOP_REGISTERS]; /* registers at the last visit */
    int64_t step[LOOP_REGISTERS];

    /* The frame is looked at less and less often: it costs more than registers do. */
    uint64_t frame;        /* address of its words */
    uint32_t frame_visits; /* visits when it was last looked at; 0 never */
    uint32_t frame_looks;
    uint32_t frame_steady;   /* bit w */
    uint64_t frame_accesses; /* access count when it was last looked at */
    uint32_t frame_words[LOOP_FRAME_WORDS];
    int32_t frame_step[LOOP_FRAME_WORDS];
};

struct loops {
    unsigned count;
    unsigned recent; /* most recently visited, tried first */
    struct loop_head heads[LOOPS_MAX];
};

void loops_begin(struct loops *);

/*
 * A visit of the head at ip: registers (hardware order), which of them are unknown, accesses so
 * far. Returns the head if the caller should now show its frame (loops_frame), else NULL.
 */
struct loop_head *loops_visit(struct loops *, uint64_t ip, const uint64_t registers[LOOP_REGISTERS],
                              uint32_t unknown, uint64_t accesses);

/* The words at head->frame as the program would see them now, and which of them are unknown. */
void loops_frame(struct loop_head *, const uint32_t words[LOOP_FRAME_WORDS], uint32_t unknown);

/* The head that was visited most: names the innermost running loop. NULL: no backward branch. */
const struct loop_head *loops_hottest(const struct loops *);

/* True if n lengths with this mean and sum of squares tell the mean within a fifth (one standard
 * error). */
bool loops_length_is_known(double mean, double squares, double n);

struct odometer {
    uint64_t head; /* ip of the loop head */
    uint64_t stack_pointer;
    uint64_t address;          /* of the frame word; 0: it is a register */
    unsigned register_number;  /* if it is */
    int64_t step;              /* per visit */
    double accesses_per_visit; /* mean */
    double deviation;          /* of one visit's accesses, as a part of that */
    uint64_t base_value;       /* at the last visit seen */
    uint64_t accesses;         /* access count at that visit */
};

/* Visits between two values of an odometer. A frame word counts modulo 2^32. */
double odometer_visits(const struct odometer *, uint64_t from, uint64_t to);

/*
 * The odometer with the longest period: a head with at least three visits, a steady variable, and
 * visits even enough for their mean length to be known within a fifth, that still came round when
 * looking ahead ended, after `accesses`; of those the one with the most accesses per visit;
 * registers before frame words. NULL: none.
 */
const struct loop_head *loops_odometer(const struct loops *, uint64_t accesses, struct odometer *);

#endif
