/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. How to get from a frame to its caller, by the call frame information of the loaded
 * object. */
#ifndef REUSE_RUNTIME_FRAME_RULES_H
#define REUSE_RUNTIME_FRAME_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "objects/call_frame.h"

/* The rule for the instruction at ip; false when there is none. */
bool frame_rule_find(uint64_t ip, struct call_frame_rule *);

/* The calling thread is in dlopen or dlclose. */
bool frame_rules_loader_works(void);

#endif
