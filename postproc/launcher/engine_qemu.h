/* SPDX-License-Identifier: BSD-3-Clause */
/* The engines that run the target inside QEMU (exact, simulate), as reuse-run starts them. */
#ifndef REUSE_LAUNCHER_ENGINE_QEMU_H
#define REUSE_LAUNCHER_ENGINE_QEMU_H

#include <stdbool.h>

#include "launcher/environment.h"
#include "launcher/target.h"
#include "options.h"

/* Whether this installation or build tree holds the engines; says nothing about qemu-user itself.
 */
bool qemu_engines_present(void);

/*
 * Runs a target under qemu-user. `arguments` is the target's argument vector, `environment` its
 * environment with the REUSE_* variables set and without libreuse.so in LD_PRELOAD. Returns
 * the status that reuse-run exits with, after one line on stderr if it is a failure of ours (125),
 * or does not return when it becomes QEMU.
 */
int run_under_qemu(const struct options *, const struct target *, char *const *arguments,
                   struct environment *environment);

#endif
