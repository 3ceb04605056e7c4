/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel counts for the calling thread, and what one of its page faults costs.
 * Signal-safe. */
#ifndef REUSE_RUNTIME_THREAD_USAGE_H
#define REUSE_RUNTIME_THREAD_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"

struct thread_usage {
    uint64_t switches;           /* of context, so far */
    uint64_t faults;             /* of pages that came without input or output, so far */
    uint64_t user_ns, kernel_ns; /* CPU time */
};

/* A system call. Zeros where the kernel does not answer. */
struct thread_usage thread_usage_now(void);

/* Calls of the program in the calling thread so far, by enum progress_kernel_count; without ours.
 * *file: an adopted descriptor; opened when it is -1. False: the kernel does not tell. */
bool thread_usage_calls(int *file, uint64_t calls[PROGRESS_CALL_COUNTS]);

/* As what the kernel counts calls of that number: a bit for each enum progress_kernel_count. */
unsigned thread_usage_counts(uint64_t number);

/* Sets the first byte of each page of memory that is new to 0, and learns what its fault costs. */
void thread_usage_touch(void *memory, size_t bytes);

/* CPU time of one page fault, ns; 0: not known yet. */
uint64_t thread_usage_fault_ns(void);

#endif
