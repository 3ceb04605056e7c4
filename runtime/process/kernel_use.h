/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernel did for the process, for the profile: how much memory it had at most, as no line
 * can be farther from its last use than all memory there is; its page faults; what it read and
 * wrote. Signal-safe.
 */
#ifndef REUSE_RUNTIME_KERNEL_USE_H
#define REUSE_RUNTIME_KERNEL_USE_H

/*
 * Appends the keys `peak_memory_bytes`, `page_faults` and, where /proc/self/io can be read,
 * `read_calls`, `read_bytes`, `write_calls` and `write_bytes` to what is known of the run; the last
 * ones count. Nothing without a profile, without /proc, or of a run that is recorded or replayed (a
 * recording holds what the kernel said of accesses, not of the process).
 */
void kernel_use_write(void);

#endif
