/* SPDX-License-Identifier: BSD-3-Clause */
/* The mechanism of pursuits (sampling/pursuit.h): the interpreter goes on from the end of a burst.
 * Signal-safe. */
#ifndef REUSE_RUNTIME_PURSUE_H
#define REUSE_RUNTIME_PURSUE_H

#include "memory/scratch.h"

/* The burst is written, and the look-ahead stands at its end: looks for some of its open lines and
 * writes what became of them, or does nothing: it is for chance to decide. */
void pursue(struct scratch *);

#endif
