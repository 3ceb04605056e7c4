/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. Comparing text that the C library has no function for. */
#ifndef REUSE_RUNTIME_TEXT_H
#define REUSE_RUNTIME_TEXT_H

#include <stdbool.h>
#include <string.h>

static inline bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

#endif
