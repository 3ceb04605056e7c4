/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Readable memory around stack pointers: what a walk (unwind.c) may read without a probe. Each
 * thread remembers the ranges that it has seen. Signal-safe; errno is kept.
 */
#ifndef REUSE_RUNTIME_UNWIND_STACK_H
#define REUSE_RUNTIME_UNWIND_STACK_H

#include <stdint.h>

/* Of the probes: no machine's pages are smaller. */
enum { PAGE_BYTES = 4096 };

/* Readable pages: addresses [low, high). */
struct stack_range {
    uint64_t low, high;
};

/* Around the stack pointer, from what the thread knows, or by a probe of its page; empty when that
 * cannot be read. */
struct stack_range stack_range_around(uint64_t stack_pointer);

/* For later walks of this thread. Replaces what overlaps, else the oldest. */
void stack_range_remember(const struct stack_range *);

/* What the thread knows of the page at that address is no longer so: it cannot be read. */
void stack_range_forget(uint64_t address);

#endif
