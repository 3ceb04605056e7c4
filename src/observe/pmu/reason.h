/* SPDX-License-Identifier: BSD-3-Clause */
/* One-line reasons, put together without the C library's formatting. Pure; signal-safe. */
#ifndef REUSE_PMU_REASON_H
#define REUSE_PMU_REASON_H

#include <stddef.h>
#include <stdint.h>

/* Append to a terminated text in a buffer of `size` bytes; what does not fit is cut. */
void reason_append(char *text, size_t size, const char *more);
void reason_append_number(char *text, size_t size, uint64_t number);

#endif
