/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the first process of a tree finds out about the machine, for the programs that it starts: in
 * the variable REUSE_MACHINE of its environment, so that a process of a few milliseconds need not
 * measure it again. Not signal-safe.
 */
#ifndef REUSE_RUNTIME_INHERITANCE_H
#define REUSE_RUNTIME_INHERITANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "isa/pipeline.h"

struct inheritance {
    uint64_t trigger_ns, trap_ns; /* see settings.h; trap_ns is 0 if registers are silent only */
    bool registers_are_silent;    /* REGISTERS_SILENT (register_state.h), else REGISTERS_TRAP */
    bool has_hardware;            /* there are hardware events that could be used */
    unsigned cpus;                /* processors online, at least 1 */
    struct pipeline_width width;  /* see settings.h */
};

/* False when nothing was handed down that is valid on this machine. */
bool inheritance_take(struct inheritance *);

/* Hands it down. Nothing happens when there is no memory. */
void inheritance_leave(const struct inheritance *);

#endif
