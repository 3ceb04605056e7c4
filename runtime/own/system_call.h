/* SPDX-License-Identifier: BSD-3-Clause */
/* Who carries out the calls of syscall() in this library. */
#ifndef REUSE_RUNTIME_OWN_SYSTEM_CALL_H
#define REUSE_RUNTIME_OWN_SYSTEM_CALL_H

/*
 * The C library's contract: -1 and errno on failure. The kernel at once (system_call_kernel.c), or
 * in the tests' library whoever comes next (system_call_seam.c), so that a stand-in that is
 * preloaded can answer. Signal-safe.
 */
long system_call_make(long number, const long argument[6]);

#endif
