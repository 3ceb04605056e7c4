/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_RUNTIME_INTERPOSE_LIMIT_H
#define REUSE_RUNTIME_INTERPOSE_LIMIT_H

/* Another program is to have the limits that the target has set, without what is added for us; and
 * that again, if it could not be started. Signal-safe. */
void limits_before_exec(void);
void limits_after_exec(void);

#endif
