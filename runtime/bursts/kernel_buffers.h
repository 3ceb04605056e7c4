/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the program's system calls had the kernel read or write in a burst: the buffers of
 * read(2), send(2) and the like. A debug register on a word there traps whenever the kernel copies
 * to it or from it, once for each byte if it copies bytewise. The kernel passes over such a trap
 * without a word, and its time is nobody's sample: a program that does little else than to copy
 * (messages between processes, say) would be slowed to a fraction, for as long as the register
 * stays armed, and that is long. So no register is put there.
 *
 * Signal-safe. One per burst.
 */
#ifndef REUSE_RUNTIME_KERNEL_BUFFERS_H
#define REUSE_RUNTIME_KERNEL_BUFFERS_H

#include <stdbool.h>
#include <stdint.h>

struct interpreter;

enum { KERNEL_BUFFERS_MAX = 16 }; /* of the latest calls; calls of one burst mostly share them */

struct kernel_buffers {
    struct {
        uint64_t base, end;
    } range[KERNEL_BUFFERS_MAX];
    unsigned noted; /* also those that others have taken the place of */
};

void kernel_buffers_begin(struct kernel_buffers *);

/* The interpreter has stopped at a system call. */
void kernel_buffers_note(struct kernel_buffers *, struct interpreter *);

/* Whether one of size bytes at address is in one of them. */
bool kernel_buffers_touch(const struct kernel_buffers *, uint64_t address, uint64_t size);

#endif
