/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interpreter against the hardware: a stopped child process is interpreted a window ahead on
 * copied registers and on memory read from outside, then really single-stepped over the same
 * window, and the two are compared.
 */
#ifndef REUSE_TESTS_ISA_TRACER_H
#define REUSE_TESTS_ISA_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "isa/interpreter.h"

struct tracer_options {
    uint64_t seed;
    unsigned windows;       /* how many to compare */
    unsigned accesses;      /* per window; less when it stops */
    unsigned pause_us_max;  /* the child runs freely for up to this long between windows */
    bool every_instruction; /* compare after each instruction, else after runs of random length */
    bool verbose;
};

struct tracer_result {
    unsigned windows, full; /* windows compared; that did not stop early */
    uint64_t instructions, accesses;
    uint64_t poisoned; /* register comparisons left out because the value was unknown */
    uint64_t compared; /* register comparisons made */
    unsigned stops[INTERPRETER_STOP_COUNT];
    unsigned mismatches;
    char first_mismatch[512];
};

/* Must be called once, before any other. */
void tracer_setup(void);

/* Starts body() or a program, stopped and traced; -1 on failure. */
pid_t tracer_start(void (*body)(void));
pid_t tracer_start_program(char *const argv[]);

/* Compares windows until there are enough or the child ends; kills the child. */
struct tracer_result tracer_run(pid_t child, const struct tracer_options *);

#endif
