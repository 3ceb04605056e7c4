/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ELF objects are loaded where. Read from the loader at start-up and after every dlopen and
 * dlclose; looked up by signal handlers.
 */
#ifndef REUSE_RUNTIME_MODULES_H
#define REUSE_RUNTIME_MODULES_H

#include <stdint.h>

/*
 * Compares the loader's list with ours and records what came and went. Not signal-safe; called with
 * all signals blocked.
 */
void modules_refresh(void);

/* The module whose segments contain the address, or 0. Signal-safe, wait-free. */
uint32_t modules_find(uint64_t address);

/* Writes the records of all loaded modules again, for a new file. Signal-safe. */
void modules_announce(void);

#endif
