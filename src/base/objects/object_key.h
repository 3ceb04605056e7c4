/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A number by which a data object is known again in another run of the same program: a hash
 * (FNV-1a) of what names it and does not move. Where it was allocated: for each return address of
 * the allocation's context, the module's file name and the address in it. A global: its module and
 * address in it. Named through the API: the name.
 *
 * Written as eight hexadecimal digits; of n objects two have the same key with a probability of
 * about n * n / 2^33. Pure, no allocation.
 */
#ifndef REUSE_OBJECTS_OBJECT_KEY_H
#define REUSE_OBJECTS_OBJECT_KEY_H

#include <stdint.h>

/* enum object_kind */
uint64_t object_key_begin(uint32_t kind);

/* An address: the path of its module (the last part counts) and the distance from its start. */
uint64_t object_key_address(uint64_t key, const char *module_path, uint64_t offset);

uint64_t object_key_text(uint64_t key, const char *text);

uint32_t object_key_end(uint64_t key);

#endif
