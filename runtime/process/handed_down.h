/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what a process of ours has left in a variable for the programs that it starts. Signal-safe.
 */
#ifndef REUSE_RUNTIME_HANDED_DOWN_H
#define REUSE_RUNTIME_HANDED_DOWN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A decimal number and the character behind it, ':' or '\0'. Moves *text past the colon; false when
 * that is not what stands there. Not sscanf(), which touches more pages of the C library than all
 * else at the start of a process.
 */
static inline bool handed_down_number(const char **text, char end, uint64_t *number)
{
    const char *at = *text;

    for (*number = 0; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(*number, UINT64_C(10), number) ||
            __builtin_add_overflow(*number, (uint64_t)(*at - '0'), number))
            return false;
    if (at == *text || *at != end)
        return false;
    *text = end == '\0' ? at : at + 1;
    return true;
}

#endif
