/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel counts for the calling thread, and what one of its page faults costs.
 * Signal-safe. */
#ifndef REUSE_RUNTIME_THREAD_USAGE_H
#define REUSE_RUNTIME_THREAD_USAGE_H

#include <stddef.h>
#include <stdint.h>

struct thread_usage {
    uint64_t switches; /* of context, so far */
    uint64_t faults;   /* of pages that came without input or output, so far */
};

/* A system call. Zeros where the kernel does not answer. */
struct thread_usage thread_usage_now(void);

/* Sets the first byte of each page of memory that is new to 0, and learns what its fault costs. */
void thread_usage_touch(void *memory, size_t bytes);

/* CPU time of one page fault, ns; 0: not known yet. */
uint64_t thread_usage_fault_ns(void);

#endif
