/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Over what the interpreter cannot pass: an execute breakpoint where its thread will be next, from
 * which the same burst goes on. Bursts that ended at stops would see too little of what comes
 * shortly after them (docs/estimators.md, "Bursts").
 *
 * The breakpoint is behind the instruction (a system call, an unknown one), or at it where only the
 * interpreter's knowledge has run out (a branch on unknown flags). There the thread may pass
 * several times before: it is the right time if the registers are as foreseen.
 *
 * It takes the place of a watch. Signal-safe; signals are blocked.
 */
#ifndef REUSE_RUNTIME_BRIDGE_H
#define REUSE_RUNTIME_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "isa/interpreter.h"

struct thread;
struct scratch;

enum {
    BRIDGE_STOPS_MAX = 32, /* of one burst, to bound what it costs */
    BRIDGE_PASSES_MAX = 4, /* of the breakpoint, at the wrong time */
};

/* A stop, and where to go on from. */
struct bridge_stop {
    enum interpreter_stop why;
    uint64_t until;   /* address of the breakpoint; 0: it is not known */
    uint32_t unknown; /* registers that cannot be foreseen, a bit for each */
    uint64_t general[INTERPRETER_REGISTERS];
};

/* The thread's burst waits there. */
struct bridge {
    struct scratch *scratch; /* NULL: none waits; written by the thread itself alone */
    unsigned slot;
    unsigned passes;
    struct bridge_stop stop;
};

/* The interpreter has stopped. */
void bridge_foresee(struct interpreter *, enum interpreter_stop why, struct bridge_stop *);

/* The burst waits from now on; false: it cannot, and is the caller's still. */
bool bridge_set(struct thread *, struct scratch *, const struct bridge_stop *, uint64_t app_now);

/* The breakpoint trapped. */
void bridge_trap(struct thread *, ucontext_t *, uint64_t app_now);

/* The register is wanted for something else, or has trapped on what handlers of ours execute: the
 * burst ends as it is. */
void bridge_cancel(struct thread *);

/* The burst that waited, if there is one: the caller's from now on. Any thread may call. */
struct scratch *bridge_leave(struct thread *);

#endif
