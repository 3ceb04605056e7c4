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

struct inheritance {
    uint64_t trigger_ns; /* see settings.h; not 0 */
    uint64_t trap_ns;    /* 0: debug registers do not trap here, or none was free */
    bool has_hardware;            /* there are hardware events that could be used */
    unsigned cpus;                /* processors online, at least 1 */
};

/* False when nothing was handed down that is valid on this machine. */
bool inheritance_take(struct inheritance *);

/* Hands it down. Nothing happens when there is no memory. */
void inheritance_leave(const struct inheritance *);

#endif
