/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions that the target has named through the API so far. Signal-safe. */
#ifndef REUSE_RUNTIME_REGIONS_H
#define REUSE_RUNTIME_REGIONS_H

#include <stdint.h>

uint32_t regions_count(void);

/* After fork, in the child: no other thread holds the lock. */
void regions_after_fork(void);

/* Writes the record of region 1 .. regions_count(). */
void region_announce(uint32_t region_id);

#endif
