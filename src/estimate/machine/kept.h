/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latencies that were measured on a host (reuse-doctor --latencies) and kept for reports on it: a
 * description of the machine (docs/machines.md) under $XDG_CONFIG_HOME or ~/.config, named by the
 * host.
 */
#ifndef REUSE_MACHINE_KEPT_H
#define REUSE_MACHINE_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "machine/machine.h"

/* Path of the host's description; NULL: neither XDG_CONFIG_HOME nor HOME says where. The caller
 * frees it. */
char *machine_kept_path(const char *host);

/* Writes it, anew if there is one. False with one line in message. */
bool machine_keep(const char *host, const struct machine *, char *message, size_t size);

/* Takes the latencies that were kept for the host, if its caches were those of `machine`. Returns
 * whether it did. A file that cannot be read counts as none. */
bool machine_take_kept_latencies(const char *host, struct machine *);

#endif
