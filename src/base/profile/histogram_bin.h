/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histogram bins and values (see struct histogram_bin): the bin of a value, and the lowest value of
 * a bin, which ends where the next one begins. Values from 2^63 count as 2^63 - 1. Pure;
 * signal-safe.
 */
#ifndef REUSE_PROFILE_HISTOGRAM_BIN_H
#define REUSE_PROFILE_HISTOGRAM_BIN_H

#include <stdint.h>

#include "profile/format.h"

uint32_t histogram_bin_of(uint64_t value);
uint64_t histogram_bin_low(uint32_t bin);

#endif
