/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the target's that must not be read before the target does: where somebody serves its
 * page faults (userfaultfd(2)), a load would wait for a pager that may be waiting for the thread
 * that we interrupted; where a device is mapped, it may have effects. Found in the calls that make
 * such memory, and in the mappings at start-up; what the target makes by system calls of its own
 * goes unnoticed. Signal-safe, wait-free.
 */
#ifndef REUSE_RUNTIME_FORBIDDEN_H
#define REUSE_RUNTIME_FORBIDDEN_H

#include <stdbool.h>
#include <stdint.h>

/* [low, high) from now on; no longer. */
void forbidden_add(uint64_t low, uint64_t high);
void forbidden_remove(uint64_t low, uint64_t high);

/* Whether there is any such memory at all, and at these addresses. */
bool forbidden_any(void);
bool forbidden_at(uint64_t address, uint64_t size);

/* Of a mapping of the target's, just made: forbidden if it is a device's. */
void forbidden_if_device(uint64_t low, uint64_t high, int descriptor);
/* Devices that are mapped already. */
void forbidden_look(void);

#endif
