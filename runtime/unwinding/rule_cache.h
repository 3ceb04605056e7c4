/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules of code addresses (src/observe/objects/call_frame.h) that walks have met. Shared by all
 * threads without a lock. Signal-safe.
 */
#ifndef REUSE_RUNTIME_RULE_CACHE_H
#define REUSE_RUNTIME_RULE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "objects/call_frame.h"

/* The rule for the instruction at ip, if it is known. */
bool rule_cache_find(uint64_t ip, struct call_frame_rule *rule);

/* Remembers it; may displace others, and may be lost to a thread that does the same. */
void rule_cache_add(uint64_t ip, const struct call_frame_rule *rule);

/* Forgets all: other code may lie at any address from now on. */
void rule_cache_forget(void);

/* Changes with each rule_cache_forget(), until it comes round after 65536 of them. */
uint64_t rule_cache_epoch(void);

#endif
