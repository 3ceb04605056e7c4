/* SPDX-License-Identifier: BSD-3-Clause */
/* See reason.h. Signal-safe. */
#include "pmu/reason.h"

#include <string.h>

#include "signal_safe.h"

void reason_append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);

    while (used + 1 < size && *more)
        text[used++] = *more++;
    text[used] = '\0';
}

void reason_append_number(char *text, size_t size, uint64_t number)
{
    char digits[21];
    unsigned at = sizeof digits - 1;

    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    reason_append(text, size, digits + at);
}
