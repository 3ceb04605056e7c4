/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/utf8.h"

#include <stddef.h>
#include <string.h>

#include "support/memory.h"

/* Bytes of the character that starts here; 0 if none does (RFC 3629, section 4). */
static size_t character_length(const unsigned char *c)
{
    unsigned low = 0x80, high = 0xbf;
    size_t length;

    if (c[0] < 0x80)
        return 1;
    if (c[0] >= 0xc2 && c[0] <= 0xdf)
        length = 2;
    else if (c[0] >= 0xe0 && c[0] <= 0xef)
        length = 3;
    else if (c[0] >= 0xf0 && c[0] <= 0xf4)
        length = 4;
    else
        return 0;
    /* No second encoding of a character, no surrogates, nothing above U+10FFFF. */
    if (c[0] == 0xe0)
        low = 0xa0;
    else if (c[0] == 0xed)
        high = 0x9f;
    else if (c[0] == 0xf0)
        low = 0x90;
    else if (c[0] == 0xf4)
        high = 0x8f;
    if (c[1] < low || c[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (c[i] < 0x80 || c[i] > 0xbf)
            return 0;
    return length;
}

char *valid_utf8(const char *text)
{
    char *copy = copy_string(text);

    for (size_t i = 0; copy[i] != '\0';) {
        size_t length = character_length((const unsigned char *)copy + i);

        if (length == 0)
            copy[i] = '?';
        i += length != 0 ? length : 1;
    }
    return copy;
}
