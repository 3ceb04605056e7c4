/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the time of our handlers goes: cycles per part of the work, for each kind of signal.
 * Only in the library that `make bench` builds beside the real one (REUSE_COST_ACCOUNT); else
 * nothing of this is compiled. A part's time is its own: what it calls that is a part as well
 * counts there. Signal-safe but for cost_print().
 */
#ifndef REUSE_RUNTIME_COST_ACCOUNT_H
#define REUSE_RUNTIME_COST_ACCOUNT_H

enum cost_part {
    COST_OTHER,
    COST_CPU_CLOCK,      /* reading it: a system call */
    COST_PERIOD,         /* setting the clock's period */
    COST_UNWINDING,      /* the path that the burst begins on */
    COST_INTERPRETATION, /* of the burst */
    COST_PURSUIT,        /* of what follows it */
    COST_DISTANCES,      /* next uses, distances, groups of probes */
    COST_OBJECTS,        /* that probes touch */
    COST_CONTEXTS,       /* numbers of call paths, records of new ones */
    COST_WRITING,        /* encoding and appending records; write(2) now and then */
    COST_MARKER,         /* drawing lines and describing them */
    COST_ARMING,         /* registers: system calls */
    COST_SAMPLE,         /* for communication; turns */
    COST_VISIT,          /* what follows a use that a register has seen */
    COST_RATE,           /* readings of the access rate */
    COST_GOVERNOR,
    COST_PARTS
};

#ifdef REUSE_COST_ACCOUNT

#include <stdint.h>

/* A signal of that kind (enum event_kind) is being handled from here to there by the calling
 * thread. hidden_ns: what it costs outside, as calibrated. */
void cost_begin(unsigned kind);
void cost_end(uint64_t hidden_ns);

/* The part begins; returns the one that goes on after cost_leave(). */
enum cost_part cost_enter(enum cost_part);
void cost_leave(enum cost_part before);

/* At the end: added to the file REUSE_COSTS, else on standard error. */
void cost_print(void);

#else

#define cost_begin(kind) ((void)0)
#define cost_end(hidden_ns) ((void)0)
#define cost_enter(part) COST_OTHER
#define cost_leave(before) ((void)(before))
#define cost_print() ((void)0)

#endif
#endif
