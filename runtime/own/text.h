/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. What the C library has no function for, or one that costs a process at its start
 * more page faults than work (snprintf: four). */
#ifndef REUSE_RUNTIME_TEXT_H
#define REUSE_RUNTIME_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Both write at `to`, where room is, end with a null byte and return where that stands. */
static inline char *put_text(char *to, const char *text)
{
    size_t length = strlen(text);

    memcpy(to, text, length + 1);
    return to + length;
}

static inline char *put_number(char *to, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits;

    digits[--at] = '\0';
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    return put_text(to, digits + at);
}

#endif
