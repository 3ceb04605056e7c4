/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much memory the process had at most, for the profile: no line can be farther from its last
 * use than all memory there is. Signal-safe.
 */
#ifndef REUSE_RUNTIME_PEAK_MEMORY_H
#define REUSE_RUNTIME_PEAK_MEMORY_H

/*
 * Appends the keys `peak_memory_bytes` and `page_faults` to what is known of the run; the last ones
 * count. Nothing without a profile, without /proc, or of a run that is recorded or replayed (a
 * recording holds what the kernel said of accesses, not of the process).
 */
void peak_memory_write(void);

#endif
