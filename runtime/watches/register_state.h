/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether debug registers are of use in this process, and what is not seen without them. Found out
 * once at start-up (handler_calibrate()), or handed down by the process that started this one.
 */
#ifndef REUSE_RUNTIME_REGISTER_STATE_H
#define REUSE_RUNTIME_REGISTER_STATE_H

#include <stdbool.h>

#include "output/say.h"

enum register_state {
    REGISTERS_TRAP,     /* armed, they trap */
    REGISTERS_TAKEN,    /* all of them are somebody else's */
    REGISTERS_ABSENT,   /* neither kernel nor machine has any for us */
    REGISTERS_SILENT,   /* they can be armed and never trap: hypervisors that keep the trap */
    REGISTERS_UNWANTED, /* the user leaves them alone */
};

/* In the record of the run: "trap", "taken", "absent", "silent", "unwanted". */
const char *register_state_name(enum register_state);

/* What is wrong, what is not seen for it and what to do, in one line. Not for REGISTERS_TRAP.
 * Signal-safe. */
void register_state_line(enum register_state, struct line *);

#endif
