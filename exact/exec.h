/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries the engine over when the guest replaces its program. */
#ifndef REUSE_EXACT_EXEC_H
#define REUSE_EXACT_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * At the entry of the guest's execve(path, arguments, environment), given as guest addresses:
 * checks that the program can be started under QEMU, with guest_library ("" none) in its
 * LD_PRELOAD. True: exec_carry_over() should be called.
 * False with one line in reason if the program would start, but natively; with an empty one if it
 * would not start.
 */
bool exec_prepare(uint64_t path, uint64_t arguments, uint64_t environment, unsigned program_index,
                  unsigned generation, const char *guest_library, char *reason, size_t reason_size);

/* Becomes QEMU with the new program. Returns only when that fails: the guest's own call then goes
 * on. */
void exec_carry_over(void);

#endif
