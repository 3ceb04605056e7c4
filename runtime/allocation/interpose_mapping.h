/* SPDX-License-Identifier: BSD-3-Clause */
/* What the wrappers of mmap and its kin have seen. */
#ifndef REUSE_RUNTIME_INTERPOSE_MAPPING_H
#define REUSE_RUNTIME_INTERPOSE_MAPPING_H

#include <stdint.h>

/* Mappings that others may have, too (MAP_SHARED), that the program has made so far, modulo 2^32.
 * Signal-safe, any thread. */
uint32_t mapping_shared_count(void);

#endif
