/* SPDX-License-Identifier: BSD-3-Clause */
/* The guest's system calls that the engine must know of. */
#ifndef REUSE_EXACT_SYSCALLS_H
#define REUSE_EXACT_SYSCALLS_H

#include <stdbool.h>

#include "qemu_api.h"
#include "settings.h"

/* Chooses the numbers of the guest's architecture, as QEMU names it. False when it is not known. */
bool syscalls_know(const char *target_name);

void syscalls_on_entry(qemu_plugin_id_t, unsigned vcpu, int64_t number, uint64_t, uint64_t,
                       uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
void syscalls_on_return(qemu_plugin_id_t, unsigned vcpu, int64_t number, int64_t result);

/* The settings must outlive the run. */
void syscalls_start(const struct settings *);

/* The status that the guest gave to exit or exit_group last; 0 before. */
int syscalls_exit_status(void);

#endif
