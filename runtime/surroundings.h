/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_RUNTIME_SURROUNDINGS_H
#define REUSE_RUNTIME_SURROUNDINGS_H

/*
 * Why nothing can be sampled in what this process runs in: a debugger or a tool that takes SIGTRAP,
 * or the processor's debug registers, for its own. One line for the user, or NULL. Signal-safe.
 */
const char *surroundings_refusal(void);

#endif
