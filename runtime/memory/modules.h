/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ELF objects are loaded where. Read from the loader at start-up; what comes later is met
 * when something of it is sampled, and looked for after every dlclose. After start-up no lock of
 * the loader's is waited for: other threads may hold it while they wait for us. (Before
 * version 2.35 of the C library that is impossible: objects that come later stay unknown.)
 */
#ifndef REUSE_RUNTIME_MODULES_H
#define REUSE_RUNTIME_MODULES_H

#include <stdbool.h>
#include <stdint.h>

/* Once at start-up: what the loader has loaded so far. Not signal-safe. */
void modules_begin(void);

/* Records the end of those that the loader no longer has. Signal-safe, wait-free. */
void modules_unloaded(void);

/* Records the object at that address if it is a new one. Signal-safe, wait-free. */
void modules_meet(uint64_t address);

/* In the child of a fork: the thread that was changing the list is not there. */
void modules_after_fork(void);

/* The module whose segments contain the address, or 0. Signal-safe, wait-free. */
uint32_t modules_find(uint64_t address);

/* Writes the records of all loaded modules again, for a new file. Signal-safe. */
void modules_announce(void);

#endif
