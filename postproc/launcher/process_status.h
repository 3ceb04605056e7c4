/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers that the kernel tells about this process. */
#ifndef REUSE_LAUNCHER_PROCESS_STATUS_H
#define REUSE_LAUNCHER_PROCESS_STATUS_H

#include <stdbool.h>
#include <stdint.h>

/* The number behind KEY: in /proc/self/status, in the given base; false if there is no such line.
 */
bool process_status_read(const char *key, int base, uint64_t *number);

/* Mode of the seccomp filter: 0 none, 1 strict, 2 filter; -1 unknown. Asks /proc, because
 * prctl(PR_GET_SECCOMP) may itself be what a filter kills for. */
int process_seccomp_mode(void);

#endif
